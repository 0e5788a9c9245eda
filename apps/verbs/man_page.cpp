#include <sstream>

#include "verbs/generated.hpp"

namespace ckpt::cli {

namespace {

/// Text as roff takes it: nothing in it is a command, and dashes and quotes stay what they are when they are copied.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '"':
        result += "\\(dq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      default:
        result += c;
    }
  }
  return result;
}

constexpr std::size_t page_width = 78;

/// Words in lines of roff. `continued`: what ends each line but the last.
std::string filled(const std::string& text, const std::string& continued) {
  std::istringstream words(text);
  std::string result;
  std::size_t column = 0;
  for (std::string word; words >> word;) {
    word = escaped(word);
    if (column > 0 && column + 1 + word.size() + continued.size() > page_width) {
      result += (continued.empty() ? "" : " ") + continued + "\n";
      column = 0;
    } else if (column > 0) {
      result += ' ';
      ++column;
    }
    if (column == 0 && word.starts_with('.')) word.insert(0, "\\&");
    result += word;
    column += word.size();
  }
  return result + "\n";
}

std::string paragraph(const std::string& text) {
  return filled(text, "");
}

/// A command that must stay on one line, however long it is.
std::string literal(const std::string& command) {
  return ".RS 4\n.nf\n" + filled(command, "\\") + ".fi\n.RE\n";
}

std::string title(std::string name, const std::string& does) {
  std::string upper = name;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return ".TH " + upper + " 1 " CKPT_RELEASE_DATE " \"ckpt " CKPT_VERSION "\"\n.SH NAME\n" + escaped(name) + " \\- " +
         escaped(does) + "\n";
}

std::string examples(const Manual& manual) {
  std::string text;
  for (const Manual::Example& example : manual.examples)
    text += (text.empty() ? "" : ".PP\n") + paragraph(example.purpose) + literal(example.command);
  return text;
}

}  // namespace

std::string verb_page(const Command& command) {
  const Manual& manual = command.manual;
  std::string text = title(manual.report_name(), command.does) + ".SH SYNOPSIS\n" +
                     paragraph("ckpt " + manual.verb + " " + manual.usage) + ".SH DESCRIPTION\n" +
                     paragraph(manual.purpose) + ".SH EXAMPLES\n" + examples(manual) + ".SH OPTIONS\n";
  const auto options = command.options(manual);
  for (const Topic& topic : topics_of(options)) {
    text += ".SS " + escaped(topic.heading) + "\n";
    for (const OptionText* const option : topic.options)
      text += ".TP\n.B " + paragraph(option->spelling()) + paragraph(option->text);
  }
  return text + ".SH EXIT STATUS\n" + paragraph(manual.exit_status) + ".SH SEE ALSO\n.BR ckpt (1)\n";
}

std::string overview_page(const std::vector<Command>& all) {
  std::string text = title("ckpt", "merge, split, reshard, show and compare checkpoints that N cards saved") +
                     ".SH SYNOPSIS\n" + paragraph("ckpt VERB [options]") + ".SH DESCRIPTION\n" +
                     paragraph("Each verb has a page of its own, and is also a program: ckpt-merge is ckpt merge.");
  std::string see;
  for (const Command& each : all) {
    text += ".TP\n.B " + escaped(each.manual.verb) + "\n" + paragraph(each.does);
    see += (see.empty() ? ".BR " : ",\n.BR ") + escaped(each.manual.report_name()) + " (1)";
  }
  return text + ".SH SEE ALSO\n" + see + "\n";
}

}  // namespace ckpt::cli
