-- SPDX-License-Identifier: Apache-2.0
-- Names do nothing to what they are printed in: C, JSON, HTML, terminals.
local ts = require "tessera"
local page = require "tessera.page.page"

local function program(name, input)
  local A = ts.placeholder(input or "A", { 8 })
  local B = ts.compute("B", { 8 }, function(i) return A(i) + 1 end)
  return ts.program(name, { A }, { B })
end

-- What is outside of comments in the header of a kernel.
local function code_of(p)
  local base = os.tmpname()
  ts.build(p):save(base .. ".o")
  local file <close> = assert(io.open(base .. ".h"))
  local text = file:read "a"
  for _, end_ in ipairs { "", ".o", ".h" } do os.remove(base .. end_) end
  return (text:gsub("/%*.-%*/", ""))
end

for _, name in ipairs { "mul */ static int injected; /*", "a /* b", "a \\",
                        "a ??/", "*/#error no" } do
  for _, p in ipairs { program(name), program("f", name) } do
    local code = code_of(p)
    assert(not code:find "%f[%w_]static%f[^%w_]" and not code:find "#error" and
           not code:find "%*/" and not code:find "/%*", name .. code)
  end
end

-- Names have no characters that act on terminals or hide what is written.
for _, bad in ipairs { "\27[2J", "\u{9b}2J", "\u{85}", "\u{202e}b", "\u{200f}",
                       "\u{2028}", "\u{2066}", "\u{61c}", "\127" } do
  local ok, e = pcall(program, "a" .. bad)
  assert(not ok and e.message:find("has a control character", 1, true), e)
end
assert(program "plus_é_加_👩‍💻":verify())

-- Other texts are escaped where they are printed, and come back as they were.
do
  local p = program "p"
  local s = ts.schedule(p)
  local key, text = "k\27[2J", 'v\27[2J\u{9b}x\u{202e} "\\\n'
  s:annotate(s:get_block "B", key, text)
  for _, said in ipairs { tostring(s:program()), tostring(s:trace()) } do
    assert(not said:find("\27", 1, true) and
           not said:find("\u{9b}", 1, true) and
           not said:find("\u{202e}", 1, true), said)
  end
  local again = ts.trace.from_lua(tostring(s:trace()), p):replay(p)
  assert(tostring(again:trace()) == tostring(s:trace()))
  assert(again:annotation(again:get_block "B", key) ==
         s:annotation(s:get_block "B", key))
end

-- Errors.
do
  local s = ts.schedule(program "p")
  local ok, e = pcall(s.get_block, s, "no\27[2J\u{9b}x")
  assert(not ok and e.message:find('"no?[2J??x"', 1, true), e.message)
  ok, e = pcall(ts.placeholder, "A", { 8 }, { ["ro\27le"] = 1 })
  assert(not ok and not e.message:find("\27", 1, true), e.message)
end

-- HTML: a name does not end the element that it stands in.
local html = page.text("report", "a", {
  title = "</script><script>alert(1)</script>" })
local data = html:match '<script type="application/json" [^>]*>(.-)</script>'
assert(data == '{"title":"\\u003c/script\\u003e\\u003cscript\\u003e' ..
               'alert(1)\\u003c/script\\u003e"}', data)
