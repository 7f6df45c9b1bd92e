-- SPDX-License-Identifier: Apache-2.0
-- `tessera doc` has a page of every function and method that there is, and
-- editors' stubs are Lua and declare it.
local ts = require "tessera"
local reference = require "tessera.reference"

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

local function check(prefix, methods, class)
  for name, f in pairs(methods) do
    if type(f) == "function" and not name:find "^_" and
       not (class == "Schedule:" and (primitive[name] or name == "guard")) then
      local full = prefix .. name
      assert(reference.page(full), "no page of " .. full)
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
check("ops.", require "tessera.ops", "ops.")
check("tensor.", require "tessera.tensor", "tensor.")
local page = reference.page "conv2d_nhwc"
for _, line in ipairs { "- `co`: channels of the result; integer\n",
                        "- `pad`: rows and columns of zeros on each side; " ..
                        "integer, 0 if left out\n" } do
  assert(page:find(line, 1, true), page)
end
for _, name in ipairs { "lua", "json", "to_tvm_json", "replay", "bind",
                        "with_decision", "mutate", "simplify", "equal",
                        "stepper" } do
  assert(sch:trace()[name] and reference.page("trace:" .. name), name)
end
database:close()
os.remove(path)

-- The chapter that a page names tells of what the page is about.
local here = arg[0]:match("^(.*)/tests/lua/[^/]+$") or "."
local named = 0
for name in index:gmatch("\n  (%S+) ") do
  local page = reference.page(name)
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
assert(#said == 15, #said)
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
assert(reference.page "split" == ts.doc "split")
