-- SPDX-License-Identifier: Apache-2.0
-- Which integer parameters of a scheduling function decide its control flow.
-- Lua calls no metamethod for a random variable == an integer, so such a
-- comparison is false and silent.  Here the function is run both with random
-- variables and with plain integers in their place: a parameter branches if the
-- primitives that are performed differ, or if its value is read and goes to
-- none of them.
local branching = {}

-- Settings that are tried; all of them where there are no more.
local tries = 64

-- What the text of the trace calls the variable that was drawn last.
function branching.drawn(sch)
  return tostring(sch:trace()):match "local (v%d+) = [^\n]*%s*$"
end

-- The primitives that were performed, and, of draws = { name = variable in the
-- text }, whose variable one of them takes.
local function signature(trace, draws)
  local names, used = {}, {}
  for line in tostring(trace):gmatch "[^\n]+" do
    local primitive = line:match "sch:([%a_][%w_]*)"
    names[#names + 1] = primitive
    local operands = line:match "= sch:(.*)" or line
    for name, variable in next, draws do
      if primitive ~= "knob" and
         operands:find("%f[%w_]" .. variable .. "%f[^%w_]") then
        used[name] = true
      end
    end
  end
  return table.concat(names, " "), used
end

-- What the function does with one setting: the names of the primitives, and
-- the parameters that are read and used by none; nil where it fails.
--
-- perform(chosen, plain): `chosen` says which of its values each parameter has,
-- `plain` whether it is handed out as an integer; gives the trace, what
-- branching.drawn says of those drawn, by name, and the set of the names read.
local function attempt(perform, chosen, plain)
  local done, trace, draws, read = pcall(perform, chosen, plain)
  if not done then return nil end
  local names, used = signature(trace, draws)
  local idle
  for name in next, draws do
    if read[name] and not used[name] then idle = idle or {}
      idle[name] = true
    end
  end
  return names, idle
end

-- Numbers that look random, the same in each run: f(n) is 1 .. n.
function branching.stream()
  local x = 1
  return function(n)
    x = (x * 1103515245 + 12345) & 0x7fffffff
    return (x >> 8) % n + 1
  end
end

-- Settings of so many values each: all, or some, drawn.
local function settings(counts, limit)
  local total, list, draw = 1, {}, branching.stream()
  for _, p in ipairs(counts) do total = math.min(total * p.count, limit + 1) end
  for t = 1, math.min(total, limit) do
    local chosen, rest = {}, t - 1
    for _, p in ipairs(counts) do
      if total <= limit then
        chosen[p.name], rest = rest % p.count + 1, rest // p.count
      else
        chosen[p.name] = draw(p.count)
      end
    end
    list[t] = chosen
  end
  return list
end

-- The set of the names of parameters that branch, of counts = { { name =,
-- count =, integers = is it to be looked at }, ... }.  A parameter whose
-- variable is drawn has the value that `chosen` says, too, so that what is
-- refused for a value is refused either way.  list: settings to try; nil: all
-- that there are, or some.
function branching.find(counts, perform, limit, list)
  local found, plain = {}, {}
  for _, p in ipairs(counts) do
    if p.integers then plain[p.name] = true end
  end
  if not next(plain) then return found end
  for _, chosen in ipairs(list or settings(counts, limit or tries)) do
    local by_integers = attempt(perform, chosen, plain)
    local by_draws, idle = attempt(perform, chosen, found)
    for name in next, idle or {} do found[name] = true end
    if by_integers and by_integers ~= by_draws then
      for _, p in ipairs(counts) do
        local name = p.name
        if plain[name] and not found[name] then
          plain[name] = nil
          if attempt(perform, chosen, plain) ~= by_integers then
            found[name] = true
          end
          plain[name] = true
        end
      end
    end
  end
  return found
end

return branching
