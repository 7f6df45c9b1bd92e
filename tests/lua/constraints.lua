-- SPDX-License-Identifier: Apache-2.0
-- Code molds and templates whose factors are expressions, and constraints
-- between parameters.
local ts = require "tessera"
local ops = require "tessera.ops"
local template = require "tessera.template"

local program = ops.matmul { m = 32, n = 32, k = 32 }

local function sketches(space)
  return ts.space.sketches(space, program, "llvm")
end

local function refused(text, f, ...)
  local ok, e = pcall(f, ...)
  assert(not ok and e.message:find(text, 1, true), tostring(e.message or e))
end

-- ---- factors by expressions ------------------------------------------------

-- Three parts by two parameters and what they leave: most draws do not divide,
-- which is no branching, and refuses neither draws nor the space.
local function of_parts(more, primitive)
  local m = {
    parameters = { { name = "m", values = { 32 } },
                   { name = "a", values = { 3, 5, 7, 2, 11, 4 } },
                   { name = "v", values = { 5, 6, 7, 8, 4 } } },
    apply = function(sch, p)
      local i = sch:get_loops(sch:get_block "C")
      local _, _, inner = sch:split(i, { p.m // (p.a * p.v), p.a, p.v }, true,
                                    true)
      sch[primitive or "vectorize"](sch, inner)
    end }
  for k, v in pairs(more or {}) do m[k] = v end
  return m
end
local function values_of(space)
  local seen, list = {}, {}
  local r = ts.tune(program, { space = space, trials = 40, seed = 1,
    strategy = "grid", cost_model = "random", measure = function(session, c)
      local p = session:trace(c):params()
      seen[("%d*%d"):format(p.a, p.v)] = true
      return 1e-3
    end })
  assert(tonumber(r.funnel:match "(%d+)  valid\n") >= r.trials, r.funnel)
  for name in pairs(seen) do list[#list + 1] = name end
  table.sort(list)
  return table.concat(list, " ")
end
do
  local list = sketches(template.mold(of_parts()))
  assert(#list == 1 and tostring(list[1]):find("v0 // (v1 * v2)", 1, true))
  assert(values_of(template.mold(of_parts())) == "2*4 2*8 4*4 4*8")
end
-- The same of a template's knobs.
do
  local space = template.space(program, function(cfg, sch)
    local i = sch:get_loops(sch:get_block "C")
    cfg:define_knob("a", { 3, 5, 7, 2, 11, 4 })
    cfg:define_knob("v", { 5, 6, 7, 8, 4 })
    sch:split(i, { 32 // (cfg.a.val * cfg.v.val), cfg.a.val, cfg.v.val }, true,
              true)
  end)
  assert(#sketches(space) == 1 and values_of(space) == "2*4 2*8 4*4 4*8")
end
-- What no draw allows is refused, by the reason of the first.
refused("less than the extent 32 of loop i", sketches, template.mold(of_parts {
  parameters = { { name = "m", values = { 32 } },
                 { name = "a", values = { 7 } },
                 { name = "v", values = { 5, 9 } } },
  apply = function(sch, p)
    sch:split(sch:get_loops(sch:get_block "C"), { p.m // p.v, p.v }, true, true)
  end }))

-- ---- constraints -----------------------------------------------------------

-- A constraint excludes values: of one parameter it makes the list shorter, of
-- several it is a table in the trace, the shorter one.
do
  local function constrained(constraint)
    return template.mold(of_parts { constraint = constraint })
  end
  assert(values_of(constrained(function(p) return p.a * p.v <= 16 end))
         == "2*4 2*8 4*4")
  assert(values_of(constrained { function(p) return p.a < 4 end,
                                 function(p) return p.v ~= 4 end }) == "2*8")
  local function text(constraint)
    return tostring(sketches(constrained(constraint))[1])
  end
  local one = text(function(p) return p.a % 2 == 0 end)
  assert(one:find("candidates = {2, 4}", 1, true) and not one:find "restrict")
  local few = text(function(p) return p.v == 4 and p.a < 5 end)
  assert(few:find("rows = {3, 4, 2, 4, 4, 4}}", 1, true), few)
  local all_but = text(function(p) return not (p.a == 4 and p.v == 8) end)
  assert(all_but:find("rows = {4, 8}, among = false", 1, true), all_but)
  -- It knows fixed values, too, and drops sketches.
  local m = of_parts { constraint = function(p)
    return p.kind == "x" and p.a * p.v == 8
  end }
  table.insert(m.parameters, 1, { name = "kind", values = { "x", "y" } })
  assert(#sketches(template.mold(m)) == 1)
  assert(values_of(template.mold(m)) == "2*4")
end
-- Where next to nothing is left of many combinations a run ends with all of it.
do
  local many, allowed = {}, {}
  for i = 1, 30 do many[i] = i end
  for i = 1, 19 do allowed[i * 1421] = true end
  local few = template.mold {
    parameters = { { name = "a", values = many }, { name = "b", values = many },
                   { name = "c", values = many } },
    constraint = function(p)
      return allowed[900 * (p.a - 1) + 30 * (p.b - 1) + p.c] or false
    end,
    apply = function(sch, p)
      sch:annotate(sch:get_block "C", "sizes", { p.a, p.b, p.c })
    end }
  for _, strategy in ipairs { "hybrid", "replay", "genetic" } do
    local r = ts.tune(program, { space = few, strategy = strategy, seed = 1,
      trials = 40, measure = function(s, c)
        return 1e-3 * s:trace(c):params().a
      end })
    assert(r.trials == 19 and r.exhausted, strategy .. ": " .. r.trials)
  end
end
refused("the constraints leave no combination", template.mold,
        of_parts { constraint = function(p) return p.a > 100 end })
refused("constraint is a function(p) or a list of such, not the number 7",
        template.mold, of_parts { constraint = 7 })
-- It reads what there is, also by pairs: else it would exclude nothing.
refused("there is no parameter 'nothing'", template.mold,
        of_parts { constraint = function(p) return p.nothing ~= 1 end })
refused("there is no parameter 'nothing'", sketches, template.mold(of_parts {
  apply = function(_, p) return p.nothing end }))
refused("a constraint sets no value (of a)", template.mold,
        of_parts { constraint = function(p) p.a = 2 end })
assert(values_of(template.mold(of_parts { constraint = function(p)
  local sum = 0
  for _, value in pairs(p) do sum = sum + value end
  return sum == 32 + 2 + 8
end })) == "2*8")
do
  local many = {}
  for i = 1, 300 do many[i] = i end
  refused("a constraint reads parameters of 90000 combinations", template.mold,
          { parameters = { { name = "a", values = many },
                           { name = "b", values = many } },
            constraint = function(p) return p.a < p.b end,
            apply = function() end })
end
