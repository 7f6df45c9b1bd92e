-- SPDX-License-Identifier: Apache-2.0
-- ts.space.check: whether modules are deterministic, and whether what they
-- sample is read, and mostly accepted.  Generates their sketches several times,
-- in fresh Lua states where the modules can be required there, and compares
-- them.

local TIMES = 4                      -- besides the first

-- The name by which `require` finds a module; nil for one made elsewhere.
local function required_as(m)
  for name, value in pairs(package.loaded) do
    if value == m then return name end
  end
end

local DEEPEST = 64

local plain = { ["nil"] = true, boolean = true, number = true, string = true }

-- A parameter as Lua text; nil for what no text gives again, as a table that
-- is reached twice.
local function literal(v, depth, seen)
  if plain[type(v)] then return ("%q"):format(v) end
  if type(v) ~= "table" or depth == 0 or seen[v] then return nil end
  seen[v] = true
  local parts = {}
  for k, x in next, v do
    local key = literal(k, depth - 1, seen)
    local value = literal(x, depth - 1, seen)
    if not key or not value then return nil end
    parts[#parts + 1] = ("[%s] = %s"):format(key, value)
  end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

-- The list of modules as Lua text; nil when a fresh state cannot make it.
local function list_text(modules)
  local parts = {}
  for i, m in ipairs(modules) do
    local name = m.module and required_as(m.module)
    if not name then return nil end
    local params = literal(m.params, DEEPEST, {})
    if not params then return nil end
    parts[i] = ("require %q (%s)"):format(name, params)
  end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

local function texts(ts, modules, program, target)
  local list = {}
  local space = ts.space.compose(modules)
  for i, t in ipairs(ts.space.sketches(space, program, target)) do
    list[i] = t:lua()
  end
  return list
end

-- What is freed first makes what is allocated then lie in another order.
local fresh_code = [[
local junk = {}
for i = 1, 100 * %d do junk[i] = {} end
junk = nil
collectgarbage()
local ts = require "tessera"
local texts = require "tessera.search.check".texts
return table.concat(texts(ts, %s, ts.load_program(%q), %q), "\1")
]]

local function in_state(state, code)
  local ok, text = state:run(code)
  if not ok then error(text, 0) end
  local out = {}
  for t in text:gmatch("[^\1]+") do out[#out + 1] = t end
  return out
end

-- The sketches as fresh states write them; those that are there at once have
-- seeds of their own, by which Lua orders keys.
local function fresh_texts(core, list, program, target)
  local states, all, path = {}, {}, os.tmpname()
  for n = 1, TIMES do states[n] = core.fresh_state() end
  program:save(path)
  local ok, e = pcall(function()
    for n, state in ipairs(states) do
      all[n] = in_state(state, fresh_code:format(n, list, path, target))
    end
  end)
  os.remove(path)
  for _, state in ipairs(states) do state:close() end
  if not ok then error(e, 0) end
  return all
end

-- The sketches as this state writes them again.
local function texts_again(ts, modules, program, target)
  local all = {}
  for n = 1, TIMES do all[n] = texts(ts, modules, program, target) end
  return all
end

-- true; or false and where a later writing differs from the first.
local function compare(here, again)
  if #here ~= #again then
    return false, ("%d sketches, then %d"):format(#here, #again)
  end
  for i = 1, #here do
    if here[i] ~= again[i] then
      return false, ("sketch %d is\n%s\nthen\n%s"):format(i, here[i], again[i])
    end
  end
  return true
end

-- ---- dead random variables -------------------------------------------------

-- Adds the variables in an operand: "v5", "v5 * 2", or a list of such.
local function add_uses(value, used)
  if type(value) == "table" then
    for _, x in pairs(value) do add_uses(x, used) end
  elseif type(value) == "string" then
    for v in value:gmatch "%f[%w_]v%d+" do used[v] = true end
  end
end

-- The variables that some instruction of the trace takes, names apart; a guard
-- takes the one whose value was read.
local function uses_of(trace)
  local used = {}
  for i = 1, #trace do
    if trace[i].name ~= "knob" then add_uses(trace[i].inputs, used) end
  end
  return used
end

-- The sampling instructions from the first on of whose results none is used:
-- the search would draw their decisions in vain.
local function unread(trace, first)
  local used, lines = uses_of(trace), {}
  for i = first, #trace do
    local inst, is_read = trace[i], false
    for _, v in ipairs(inst.outputs) do is_read = is_read or used[v] end
    if inst.name:find "^sample_" and not is_read then
      lines[#lines + 1] = ("nothing reads what sch:%s gives at %s")
                          :format(inst.name, inst.place or "some place")
    end
  end
  return lines
end

-- The modules, each of which calls look(module, schedule, first) with what it
-- gave, and how many instructions there were before.
local function watched(modules, look)
  local list = {}
  for i, m in ipairs(modules) do
    list[i] = setmetatable({ name = m.name, params = m.params,
      apply = function(sch, block)
        local before = #sch:trace()
        local made, why = m.apply(sch, block)
        local all = type(made) == "table" and made or { made }
        for _, one in ipairs(all) do look(m, one, before + 1) end
        return made, why
      end }, getmetatable(m))
  end
  return list
end

-- What is sampled in vain, in a line; nil: nothing.  Sketches are simplified
-- and do not have what is dead any more, so the modules' schedules are looked
-- at.
local function unread_warning(ts, modules, program, target)
  local lines, seen = {}, {}
  local space = ts.space.compose(watched(modules, function(m, sch, first)
    for _, text in ipairs(unread(sch:trace(), first)) do
      local line = ("module '%s': %s"):format(m.name, text)
      if not seen[line] then lines[#lines + 1] = line end
      seen[line] = true
    end
  end))
  ts.space.sketches(space, program, target)
  if #lines == 0 then return nil end
  return table.concat(lines, "; ") .. ": use the variable, or read it by " ..
         "sch:get (in Lua == with a number is always false)"
end

-- ---- other results ---------------------------------------------------------

local DRAWS = 256                    -- of all sketches together

-- A warning where most draws are refused since a step gives another number of
-- results than in the sketch; nil: nothing.
local function outputs_warning(ts, modules, program, target)
  local sketches = ts.space.sketches(modules, program, target)
  local tried, lost, by = 0, 0, {}
  for _, sketch in ipairs(sketches) do
    for seed = 1, math.max(1, DRAWS // #sketches) do
      local ok, e = pcall(sketch.replay, sketch, program,
                          { resample = true, seed = seed })
      if not ok and (type(e) ~= "table" or not e.primitive) then error(e, 0) end
      tried = tried + 1
      if not ok and e.reason == "OTHER_OUTPUTS" then
        lost, by[e.primitive] = lost + 1, (by[e.primitive] or 0) + 1
      end
    end
  end
  if 2 * lost <= tried then return nil end
  local most
  for name, n in pairs(by) do
    if not most or n > by[most] or n == by[most] and name < most then
      most = name
    end
  end
  return ("%d of %d draws are refused since %s gives another number of " ..
          "results than in the sketch: tessera doc OTHER_OUTPUTS"):format(
           lost, tried, most)
end

-- check(ts, core, modules, program, target): true, and a warning where a
-- sampled value is read by nothing, or most draws are refused by what they
-- list; or false and where one writing differs from another.
local function check(ts, core, modules, program, target)
  local here, list = texts(ts, modules, program, target), list_text(modules)
  local all = list and
              fresh_texts(core, list, program, tostring(ts.target(target)))
              or texts_again(ts, modules, program, target)
  for _, again in ipairs(all) do
    local same, where = compare(here, again)
    if not same then return same, where end
  end
  local warnings = {}
  for _, of in ipairs { unread_warning, outputs_warning } do
    warnings[#warnings + 1] = of(ts, modules, program, target)
  end
  if #warnings == 0 then return true end
  local warning = table.concat(warnings, "; ")
  core.warn("ts.space.check: " .. warning)
  return true, warning
end

return { check = check, texts = texts }
