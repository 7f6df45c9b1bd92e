-- SPDX-License-Identifier: Apache-2.0
-- `tessera doc` has a page for every function and method, and the editors'
-- stubs are Lua and declare it.
local ts = require "tessera"
local reference = require "tessera.reference.pages"

local A = ts.placeholder("A", { 4 })
local B = ts.compute("B", { 4 }, function(i) return A(i) + 1 end)
local p = ts.program("p", { A }, { B })
local sch = ts.schedule(p)
local path = os.tmpname()
local database = ts.database(path)

local primitive = {}
for _, q in ipairs(ts.primitives()) do primitive[q.name] = true end

local stubs, index = reference.stubs(), reference.index()
assert(load(stubs, "stubs"))

-- The page of a name, which is looked up once.
local pages = {}
local function page_of(name)
  if pages[name] == nil then pages[name] = reference.page(name) or false end
  return pages[name] or nil
end

local function check(prefix, methods, class)
  for name, f in pairs(methods) do
    local recorded = class == "Schedule:" and
                     (primitive[name] or name:find "^guard")
    if type(f) == "function" and not name:find "^_" and not recorded then
      local full = prefix .. name
      assert(page_of(full), "no page of " .. full)
      assert(index:find("\n  " .. full .. " ", 1, true), full)
      assert(stubs:find("\nfunction " .. class .. name .. "(", 1, true), full)
    end
  end
end

local function methods_of(object) return getmetatable(object).__index end

check("ts.", ts, "ts.")
check("ts.trace.", ts.trace, "ts.trace.")
check("ts.space.", ts.space, "ts.space.")
check("sch:", methods_of(sch), "Schedule:")
check("program:", methods_of(p), "Program:")
check("tensor:", methods_of(ts.tensor("float32", { 4 })), "Tensor:")
check("kernel:", methods_of(ts.build(p, "llvm")), "Kernel:")
check("target:", methods_of(ts.target "llvm"), "Target:")
check("database:", methods_of(database), "Database:")
check("builder:", methods_of(ts.builder "b"), "Builder:")
local stepper = sch:trace():stepper(p)
check("stepper:", methods_of(stepper), "Stepper:")
check("space:", methods_of(ts.space.default "llvm"), "Space:")
check("expr:", methods_of(ts.size "n"), "Expr:")
assert(reference.page "ts.auto")
check("ops.", require "tessera.ops", "ops.")
check("tensor.", require "tessera.tensor", "tensor.")
local page = reference.page "conv2d_nhwc"
for _, line in ipairs { "- `co`: channels of the result; integer\n",
                        "- `groups`: parts that the channels fall into; " ..
                        "integer, 1 if left out\n" } do
  assert(page:find(line, 1, true), page)
end
for _, name in ipairs { "lua", "json", "to_tvm_json", "replay", "bind",
                        "with_decision", "mutate", "simplify", "equal",
                        "stepper", "params", "decisions" } do
  assert(sch:trace()[name] and reference.page("trace:" .. name), name)
end
database:close()
os.remove(path)

-- The chapter that a page names mentions its subject.
local here = arg[0]:match("^(.*)/tests/lua/[^/]+$") or "."
local named = 0
for name in index:gmatch("\n  (%S+) ") do
  local page = page_of(name)
  local chapter = page and page:match("more in (docs/[%w-]+%.md)")
  if chapter then
    local f = assert(io.open(here .. "/" .. chapter))
    local bare = name:match("[^.:]+$")
    assert(f:read("a"):find("%f[%w_]" .. bare .. "%f[^%w_]"),
           chapter .. " does not tell of " .. name)
    f:close()
    named = named + 1
  end
end
assert(named > 100, named)

-- The page of a class names all of its methods; that of a stepper, what is
-- typed at its prompt, too.
local stepping = reference.page "stepper"
for name in pairs(methods_of(stepper)) do
  assert(stepping:find("\n- `stepper:" .. name .. "(", 1, true), name)
end
for _, c in ipairs(require("tessera.step.prompt").commands) do
  assert(stepping:find(("\n- `%s`: %s"):format(c[1], c[2]), 1, true), c[1])
end
for _, name in ipairs { "draw", "mutate", "cross" } do
  assert(reference.page("session"):find("\n- `session:" .. name .. "(", 1,
                                        true), name)
end

-- The Lua code of a file: all of it, or its fenced blocks.
local function code_in(file)
  local f = assert(io.open(file))
  local text = f:read "a"
  f:close()
  if file:find "%.lua$" then return text end
  local blocks = {}
  for block in ("\n" .. text):gmatch "\n```lua\n(.-)\n```" do
    blocks[#blocks + 1] = block
  end
  return table.concat(blocks, "\n")
end

-- Names of a kind that are not known in the code of a file; what plain Lua has
-- for its own strings and files is none of ours.
local plain = { string, getmetatable(io.stdout).__index }
local function is_plain(name)
  local method = name:match ":([%w_]+)$"
  return method and (plain[1][method] or plain[2][method])
end

local chapters = require "tessera.reference.chapters"
local listed, counted = {}, 0
for _, name in ipairs(chapters.names) do listed[name] = true end
local f = assert(io.popen("ls '" .. here .. "'/README.md '" .. here ..
                          "'/docs/*.md '" .. here .. "'/examples/*.lua"))
for file in f:lines() do
  local chapter = file:match "/docs/([^/]+)%.md$"
  assert(not chapter or listed[chapter], file)
  local code = code_in(file):gsub("%-%-[^\n]*", "")
  for _, pattern in ipairs { "%f[%w_]([%a_][%w_]*:[%a_][%w_]*)%s*[({\"]",
                             "%f[%w_](ts%.[%a_][%w_.]*[%w_])" } do
    for name in code:gmatch(pattern) do
      counted = counted + 1
      local page = page_of(name)
      assert(page or is_plain(name), name .. " in " .. file)
      assert(is_plain(name) or not page:find "No page of its own", name)
    end
  end
end
f:close()
assert(counted > 500, counted)

-- A method of who knows whom is shown of each class that has it; operands,
-- options and fields are where they stand; other words, in the chapters.
local function shows(name, ...)
  local page = assert(reference.page(name), name)
  for _, part in ipairs { ... } do
    assert(page:find(part, 1, true), name .. "\n" .. page)
  end
end
shows("p:save", "## program:save(", "## tensor:save(")
shows("d:close", "## database:close()", "## kernel:close()")
shows("sc:split", ts.doc "split")
shows("ts.matmul", "## ops.matmul(")
shows("trace", "## class tessera.Trace", "## sch:trace()", "database:trace(")
shows("max_innermost_factor", "`sch:sample_perfect_tile` has\n\n" ..
      "- `max_innermost_factor` (an integer; `16`): the last factor",
      "`multi_level_tiling` has\n\n- `max_innermost_factor` (an integer " ..
      "from 1 on; `64`): innermost tiles")
shows("on_error", "## option on_error")
shows("min_time", "## option min_time")
shows("best.latency", "`result` has\n\n- `latency?` (`number`): the best time")
shows("goto", "`stepper` has\n\n- `g N, goto N, N`: stand after")
shows("ts.space", "- `ts.space.union(spaces)`: ")
shows("program.flops", "## program:flops()")
shows("tensor.get", "## tensor:get(")
shows("sch.split", ts.doc "split")
shows("sc.split", "## ops.split(")
shows("split()", ts.doc "split", "## ops.split(")
shows("ts.sum(x, axes)", "## ts.sum(")
shows("kernel.time", "## kernel:time(")
shows("result:kernel", "`result` has\n\n- `kernel?` (`tessera.Kernel`)")
shows("os.time", "No page of its own", "os.time")
for _, name in ipairs { "num-cores", "-num-cores", "fp-contract",
                        "-fp-contract" } do
  shows(name, "No page of its own", "docs/describing.md, line ", "| `-" ..
        name:gsub("^%-", "") .. "=")
end
shows("libexec", "No page of its own", "docs/measuring.md, line ")
for _, name in ipairs { "libexe", "ts.sums", "x:sum", "cost-mode", "-x",
                        "sch:kernel", "", ".", ":",
                        "a b", "%w", "ts." } do
  assert(reference.page(name) == nil, name)
end

-- What a result and a kernel are.
local tuned = ts.tune(p, { trials = 1, min_time = 1e-4 })
local said = {}
for line in reference.page("result"):gmatch("[^\n]+") do
  local field, optional, kind =
    line:match("^%- `(%w+)(%??)` %(`([%w.%[%]]+)`%)")
  if field then
    local value = tuned[field]
    local is = math.type(value) == "integer" and "integer" or type(value)
    said[#said + 1] = field
    assert(value == nil and optional == "?" or is == kind or
           kind:find "^tessera" and is == "userdata" or
           kind:find "%[%]$" and is == "table", field)
  end
end
assert(#said == 17, #said)
assert(tuned.status == "OK" and tuned.nonsense == nil)
assert(reference.page("ts.tune"):find("`tessera doc result`", 1, true))
assert(reference.page("kernel"):find("- `kernel:time(", 1, true))
assert(stubs:find("---@field latency? number", 1, true))
assert(index:find("\n  result ", 1, true))

-- Short names, and what there is not.
assert(reference.page "from_tvm_json":find("## ts.trace.from_tvm_json(text",
                                           1, true))
assert(reference.page "can" == reference.page "sch:can")
assert(reference.page "sch:cannot" == nil)
assert(reference.page "fuse" == ts.doc "fuse")

-- Every status and every reason that a funnel may name has a page.
do
  local root = arg[0]:gsub("[^/]*$", "../../")
  local parts = {}
  for i, q in ipairs(ts.primitives()) do parts[i] = ts.doc(q.name) end
  local primitives = table.concat(parts)
  local function names_of(file, pattern)
    local n = 0
    for line in io.lines(root .. file) do
      local name = line:match(pattern)
      if name then
        n = n + 1
        local rule = primitives:find("`" .. name .. "`", 1, true)
        local page = rule and name or page_of(name)
        assert(page and not page:find "No page of its own", name)
        assert(page:find(name, 1, true), page)
      end
    end
    assert(n > 5, file)
  end
  names_of("include/tessera/status.def", "^STATUS%((%w+),")
  names_of("include/tessera/status.def", "^STATUS%(([%w_]+),")
  names_of("vm/failures.def", "^FAILURE%(([%w_]+),")
  names_of("schedule/refusals.def", "^REFUSAL%(([%w_]+),")
  for line in io.lines(root .. "search/postproc/checks.c") do
    for name in line:gmatch "&postproc_([%w_]+)" do
      assert(reference.page(name), name)
    end
  end
  for _, words in ipairs { "candidates tried", "have no neighbour",
                           "but duplicates", "but not measured",
                           "proposed by the strategy" } do
    assert(reference.page "funnel":find(words, 1, true), words)
  end
end
