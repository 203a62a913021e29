// SPDX-License-Identifier: Apache-2.0
#include "tools/page/page.h"

#include "base/json.h"
#include "tools/page_text.h"

namespace dvnn::tools {
namespace {

// Prevents a model's names from ending the page's script element.
std::string in_script(const std::string& json) {
  std::string text;
  for (const char c : json) text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return text;
}

void put(const std::string& mark, const std::string& text, std::string* page) {
  const size_t at = page->find(mark);
  if (at != std::string::npos) page->replace(at, mark.size(), text);
}

}  // namespace

std::string assemble_page(const std::string& html, Span<const char* const> styles,
                          Span<const char* const> scripts, const std::string& data) {
  std::string page = html, style, script;
  for (const char* part : styles) style += part;
  for (const char* part : scripts) script += part;
  put("<!--style-->", "<style>\n" + style + "</style>", &page);
  put("<!--script-->", "<script>\n" + script + "</script>", &page);
  // The data is inserted last, so that its contents are not searched for marks.
  put("<!--data-->",
      "<script type=\"application/json\" id=\"data\">" + in_script(data) + "</script>", &page);
  return page;
}

std::string page_of(const network::Model& model, const PageFacts& facts) {
  constexpr const char* kStyles[] = {kPageStyle};
  return assemble_page(kPageHtml, kStyles, kPageScripts,
                       json_text(page_data(model, facts), -1, true));
}

}  // namespace dvnn::tools
