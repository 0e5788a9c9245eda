#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "verbs/generated.hpp"

namespace ckpt::cli {

namespace {

/// The kind of word that follows an option.
enum class Value { none, word, file, other };

Value value_of_option(const OptionText& option) {
  if (option.type.empty()) return Value::none;
  if (!option.choices().empty()) return Value::word;
  for (const char* const file : {".json", "PATH", "FILE", "DIR", "REF", "OUT", "REPORT", "WHAT", "HF_DIR", "MAP"})
    if (option.type.find(file) != std::string::npos) return Value::file;
  return Value::other;
}

std::string spaced(const std::vector<std::string>& words, const std::string& between = " ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

/// All names by which ckpt is called.
std::string program_names(const std::vector<Command>& all) {
  std::string names = "ckpt";
  for (const Command& each : all) names += " " + each.manual.report_name();
  return names;
}

/// As bash and zsh read it.
std::string in_single_quotes(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// The lines of bash that complete one verb: the values of its options, and its options.
std::string bash_verb(const Command& command) {
  const auto options = command.options(command.manual);
  std::vector<std::string> names;
  std::vector<std::string> files;
  std::vector<std::string> others;
  std::string text = "    " + command.manual.verb + ")\n      case $previous in\n";
  for (const OptionText& option : options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
    const Value value = value_of_option(option);
    if (value == Value::word)
      text +=
          "        " + spaced(option.names, "|") + ") words=" + in_single_quotes(spaced(option.choices())) + " ;;\n";
    auto* const known = value == Value::file ? &files : value == Value::other ? &others : nullptr;
    if (known != nullptr) known->insert(known->end(), option.names.begin(), option.names.end());
  }
  if (!files.empty()) text += "        " + spaced(files, "|") + ") return 0 ;;\n";
  if (!others.empty())
    text += "        " + spaced(others, "|") +
            ") [[ -z ${COMP_LINE-} ]] || compopt +o default +o bashdefault; return 0 ;;\n";
  return text + "        *) words=" + in_single_quotes(spaced(names)) +
         "; [[ $current == -* ]] || return 0 ;;\n      esac ;;\n";
}

std::string bash(const std::vector<Command>& all) {
  std::vector<std::string> verbs;
  std::string cases;
  for (const Command& each : all) {
    verbs.push_back(each.manual.verb);
    cases += bash_verb(each);
  }
  return "# Completes command lines of ckpt in bash; ckpt itself prints this: ckpt completion bash\n"
         "_ckpt() {\n"
         "  COMPREPLY=()\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[0]##*/} "
         "words=\n"
         "  if [[ $current == = ]]; then\n"
         "    current=\n"
         "  elif [[ $previous == = ]]; then\n"
         "    previous=${COMP_WORDS[COMP_CWORD-2]}\n"
         "  fi\n"
         "  if [[ $verb == ckpt-* ]]; then\n"
         "    verb=${verb#ckpt-}\n"
         "  elif ((COMP_CWORD == 1)); then\n"
         "    verb=\n"
         "  else\n"
         "    verb=${COMP_WORDS[1]}\n"
         "  fi\n"
         "  case $verb in\n"
         "    ''|help) words='" +
         spaced(verbs) + "' ;;\n" + cases +
         "  esac\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
         "}\n"
         "complete -o bashdefault -o default -F _ckpt " +
         program_names(all) + "\n";
}

/// A description as _arguments takes it inside brackets.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string zsh_option(const OptionText& option) {
  std::string rest = "[" + zsh_text(option.in_short()) + "]";
  const Value value = value_of_option(option);
  const std::string what = ":" + zsh_text(option.type);
  if (value == Value::word) rest += what + ":(" + spaced(option.choices()) + ")";
  if (value == Value::file) rest += what + ":_files";
  if (value == Value::other) rest += what + ": ";
  std::string text;
  for (const std::string& name : option.names) {
    const std::string once = option.is_repeated ? "*" : option.names.size() > 1 ? "(" + spaced(option.names) + ")" : "";
    const std::string equals = name.starts_with("--") && value != Value::none ? "=" : "";
    text += " \\\n        " + in_single_quotes(once + name + equals + rest);
  }
  return text;
}

std::string zsh(const std::vector<Command>& all) {
  std::string verbs;
  std::string cases;
  for (const Command& each : all) {
    verbs += " " + in_single_quotes(each.manual.verb + ":" + zsh_text(each.does));
    cases += "    " + each.manual.verb + ")\n      _arguments -s";
    for (const OptionText& option : each.options(each.manual)) cases += zsh_option(option);
    cases += " \\\n        '*:path:_files' ;;\n";
  }
  return "#compdef " + program_names(all) +
         "\n# Completes command lines of ckpt in zsh; ckpt itself prints this: ckpt completion zsh\n"
         "_ckpt() {\n"
         "  local verb=${service#ckpt-}\n"
         "  if [[ $service == ckpt ]]; then\n"
         "    if (( CURRENT == 2 )) || [[ $words[2] == help ]]; then\n"
         "      local -a verbs=(" +
         verbs +
         ")\n"
         "      _describe verb verbs\n"
         "      return\n"
         "    fi\n"
         "    verb=$words[2]\n"
         "    shift words\n"
         "    (( CURRENT-- ))\n"
         "  fi\n"
         "  case $verb in\n" +
         cases +
         "  esac\n"
         "}\n"
         "_ckpt \"$@\"\n";
}

/// fish knows escapes between single quotes.
std::string in_fish_quotes(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return result + "'";
}

std::string fish_option(const std::string& where, const OptionText& option) {
  std::string text = "complete " + where;
  for (const std::string& name : option.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  const Value value = value_of_option(option);
  if (value == Value::word) text += " -x -a " + in_fish_quotes(spaced(option.choices()));
  if (value == Value::file) text += " -r -F";
  if (value == Value::other) text += " -x";
  return text + " -d " + in_fish_quotes(option.in_short()) + "\n";
}

std::string fish(const std::vector<Command>& all) {
  std::string text =
      "# Completes command lines of ckpt in fish; ckpt itself prints this: ckpt completion fish\n"
      "complete -c ckpt -n __fish_use_subcommand -f -a help -d 'everything about a verb'\n";
  for (const Command& each : all) {
    const std::string& verb = each.manual.verb;
    text += "complete -c ckpt -n __fish_use_subcommand -f -a " + verb + " -d " + in_fish_quotes(each.does) + "\n";
    for (const OptionText& option : each.options(each.manual)) {
      text += fish_option("-c ckpt -n '__fish_seen_subcommand_from " + verb + "'", option);
      text += fish_option("-c ckpt-" + verb, option);
    }
  }
  return text;
}

}  // namespace

std::string completion(const std::string& shell, const std::vector<Command>& all) {
  if (shell == "bash") return bash(all);
  if (shell == "zsh") return zsh(all);
  if (shell == "fish") return fish(all);
  throw Error(Kind::usage, "'" + shell + "'",
              {"no shell that is known here", "bash, zsh or fish", "write for example ckpt completion bash"});
}

}  // namespace ckpt::cli
