#include "layout/tables/row_condition.hpp"

#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "catch.hpp"

using namespace ckpt;
using Catch::Matchers::Contains;
using Operation = RowCondition::Operation;

namespace {

/// The steps in the order in which they are run: "show click - 1.5 >=".
std::string steps_of(const std::string& text, const std::map<std::string, std::string>& words = {}) {
  const RowCondition condition(text, words);
  static const std::map<Operation, std::string> symbols{
      {Operation::negate, "~"},      {Operation::add, "+"},      {Operation::subtract, "-"},
      {Operation::multiply, "*"},    {Operation::divide, "/"},   {Operation::less, "<"},
      {Operation::less_equal, "<="}, {Operation::greater, ">"},  {Operation::greater_equal, ">="},
      {Operation::equal, "=="},      {Operation::unequal, "!="}, {Operation::both, "and"},
      {Operation::either, "or"}};
  std::string found;
  for (const RowCondition::Step& step : condition.steps()) {
    found += found.empty() ? "" : " ";
    if (step.operation == Operation::number)
      found += std::to_string(step.number).substr(0, 4);
    else
      found += step.operation == Operation::field ? condition.fields()[step.field] : symbols.at(step.operation);
  }
  return found;
}

std::string refused(const std::string& text, const std::map<std::string, std::string>& words = {}) {
  try {
    static_cast<void>(RowCondition(text, words));
  } catch (const Error& error) {
    CHECK(error.kind() == Kind::usage);
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("a condition's steps: products before sums, comparisons before and, and before or, each from the left") {
  CHECK(steps_of("show >= 1.5") == "show 1.50 >=");
  CHECK(steps_of("a - b - c * d / e > 1") == "a b - c d * e / - 1.00 >");
  CHECK(steps_of("(show-click)*0.1+click*1>=1.5 and unseen_days<=16") ==
        "show click - 0.10 * click 1.00 * + 1.50 >= unseen_days 16.0 <= and");
  CHECK(steps_of("a < 1 or b < 1 and c < 1") == "a 1.00 < b 1.00 < c 1.00 < and or");
  CHECK(steps_of("(a < 1 or b < 1) and c < 1") == "a 1.00 < b 1.00 < or c 1.00 < and");
  CHECK(steps_of("- -a > -b.c") == "a b.c ~ >");
  CHECK(steps_of("-(a + 1) > .5") == "a 1.00 + ~ 0.50 >");
  CHECK(steps_of("((a)) == ((1))") == "a 1.00 ==");
  CHECK(steps_of("\"and so on\" != 1e-1") == "and so on 0.10 !=");
  CHECK(RowCondition("a < b and b < a").fields() == std::vector<std::string>{"a", "b"});
}

TEST_CASE("not turns round what it stands before: comparisons stay the only ones that see NaN") {
  CHECK(steps_of("not a < 1") == "a 1.00 >=");
  CHECK(steps_of("not not a < 1") == "a 1.00 <");
  CHECK(steps_of("not (a <= 1 or b > 1)") == "a 1.00 > b 1.00 <= and");
  CHECK(steps_of("not (a == 1 and not (b != 1 or c >= 1))") == "a 1.00 != b 1.00 != c 1.00 >= or or");
  CHECK(steps_of("not (a) + 1 > 2 and b < 1") == "a 1.00 + 2.00 <= b 1.00 < and");
}

TEST_CASE("a word stands for a condition, also turned round") {
  const std::map<std::string, std::string> words{{"hot", "a >= 10 or b > 1"}, {"not_a_field", "c < 1"}};
  CHECK(steps_of("hot and c < 1", words) == "a 10.0 >= b 1.00 > or c 1.00 < and");
  CHECK(steps_of("not hot", words) == "a 10.0 < b 1.00 <= and");
  CHECK(RowCondition("c < 1 and (hot or not hot)", words).text() ==
        "c < 1 and ((a >= 10 or b > 1) or not (a >= 10 or b > 1))");
  CHECK(RowCondition("hotter < 1", words).fields() == std::vector<std::string>{"hotter"});
  CHECK_THAT(refused("hot >= 1", words), Contains("'hot' at character 1 is a condition"));
  CHECK_THAT(refused("hot", {{"hot", "a >= "}}), Contains("\"hot\": it ends after 5 characters"));
}

TEST_CASE("a condition that cannot be understood is refused with the place") {
  CHECK_THAT(refused(""), Contains("it ends after 0 characters, expected a field, a number or \"(\""));
  CHECK_THAT(refused("show"), Contains("'show' at character 1 is a number, expected a condition"));
  CHECK_THAT(refused("show >= "), Contains("it ends after 8 characters"));
  CHECK_THAT(refused("show >> 1"), Contains("'>' at character 7, expected a field"));
  CHECK_THAT(refused("show = 1"), Contains("'=' at character 6"));
  CHECK_THAT(refused("1 < a < 3"), Contains("'<' at character 7, expected one comparison at a time"));
  CHECK_THAT(refused("a < 1 b"), Contains("'b' at character 7, expected \"and\", \"or\" or the end"));
  CHECK_THAT(refused("(a < 1"), Contains("expected \")\" for the \"(\" at character 1"));
  CHECK_THAT(refused("a and b < 1"), Contains("'a' at character 1 is a number"));
  CHECK_THAT(refused("(a < 1) + 1 > 2"), Contains("'(a < 1)' at character 1 is a condition, expected a number"));
  CHECK_THAT(refused("-(a < 1)"), Contains("is a condition"));
  CHECK_THAT(refused("not a"), Contains("'a' at character 5 is a number"));
  CHECK_THAT(refused("a < 1x"), Contains("'1x' at character 5, expected a number such as"));
  CHECK_THAT(refused("a < 1e999"), Contains("expected a number such as"));
  CHECK_THAT(refused("\"a < 1"), Contains("between two \""));
  CHECK_THAT(refused("a < and"), Contains("'and' at character 5"));
  CHECK_THAT(refused(std::string(65, '(') + "a < 1"), Contains("at most 64 parentheses"));
  CHECK_THAT(refused("a < 1\n\xff"), Contains("at character 7"));
}
