-- SPDX-License-Identifier: Apache-2.0
-- Text of each kind of object is for people: no addresses, and no error when
-- the object is closed, also twice.
local ts = require "tessera"
local ops = require "tessera.ops"

local program = ops.matmul { m = 4, n = 4, k = 4 }
local sch = ts.schedule(program)
sch:split { loop = sch:get_loops(sch:get_block "C"), factors = { 2, ts.auto } }
local path = os.tmpname()
os.remove(path)

local function nothing() end
local objects = {
  tensor = { ts.tensor("int8", { 2, 3 }), "^tensor int8, 2x3\n" },
  program = { ts.schedule(program):program(), "^matmul%(" },
  schedule = { ts.schedule(program), "matmul" },
  trace = { sch:trace(), "split" },
  stepper = { sch:trace():stepper(program), "" },
  target = { ts.target(), "^llvm " },
  kernel = { ts.build(program), "^kernel matmul$" },
  space = { ts.space.default(), "^space" },
  database = { ts.database(path), "^database /" },
}
for kind, o in pairs(objects) do
  local object, text = o[1], tostring(o[1])
  -- The name of a file, which is drawn, may have any letters.
  local own = text:gsub(path, "", 1)
  assert(text:find(o[2]) and not own:find "0x", kind .. ": " .. text)
  object:close()
  assert(tostring(object) == kind .. " (closed)", tostring(object))
  object:close() -- again, as when it goes out of scope
  local _ <close> = object
end
for _, e in ipairs { "", "-wal", "-shm" } do os.remove(path .. e) end

assert(tostring(ts.builder "b") == "builder b")
assert(tostring(ts.strategy { propose = nothing }) == "strategy")
assert(tostring(ts.cost_model { predict = nothing }) == "cost model")
local tiling = require "tessera.modules.multi_level_tiling"
assert(tostring(tiling {}) == "schedule module multi_level_tiling")
ts.tune(program, { trials = 1, min_time = 1e-4, strategy = ts.strategy {
  propose = function(_, session, n)
    assert(n == 1 and tostring(session) == "session")
    return { session:draw() }
  end,
} })
-- One that says itself what is printed goes on to do so.
local own = setmetatable({ propose = nothing },
                         { __tostring = function() return "mine" end })
assert(tostring(ts.strategy(own)) == "mine")
