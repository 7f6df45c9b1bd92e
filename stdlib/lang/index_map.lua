-- SPDX-License-Identifier: Apache-2.0
-- Index maps that are given as functions: the function is called with formal
-- parameters, and what it makes of them is a text.
local index_map = {}

-- A parameter of an index map that is given as a function, or what was made
-- of some: its text, how tightly that binds, and the list of the sampled
-- integers in the map, which stand in the text as $1, $2, ...
local formal = {}

function index_map.is_formal(x) return getmetatable(x) == formal end
local is_formal = index_map.is_formal

local ranks = { ["+"] = 1, ["-"] = 1, ["*"] = 2, ["//"] = 2, ["%"] = 2 }
local ATOM = 3

local function no_index(core)
  core.invalid("an index map computes with its parameters, integers and " ..
               "sampled integers, by + - * // % ts.min ts.max")
end

-- x as one, in a map with these sampled integers.
local function to_formal(core, sampled, x)
  if is_formal(x) then return x end
  if math.type(x) == "integer" then
    return setmetatable({ text = tostring(x), sampled = sampled,
                          rank = x < 0 and 0 or ATOM }, formal)
  end
  if type(x) ~= "userdata" or not core.rv_op(x, 0, "+") then
    no_index(core)
  end
  local k = 1
  while sampled[k] and sampled[k] ~= x do k = k + 1 end
  sampled[k] = x
  return setmetatable({ text = "$" .. k, sampled = sampled, rank = ATOM },
                      formal)
end

-- a op b, of which one is a formal parameter.
function index_map.combine(core, op, a, b)
  local sampled = (is_formal(a) and a or b).sampled
  a, b = to_formal(core, sampled, a), to_formal(core, sampled, b)
  local rank = ranks[op]
  if not rank then
    return setmetatable({ text = ("%s(%s, %s)"):format(op, a.text, b.text),
                          sampled = sampled, rank = ATOM }, formal)
  end
  local left = a.rank < rank and "(%s)" or "%s"
  local right = b.rank <= rank and "(%s)" or "%s"
  return setmetatable({ text = (left .. " %s " .. right):format(a.text, op,
                                                                b.text),
                        sampled = sampled, rank = rank }, formal)
end

-- Gives formal parameters their operators.
function index_map.install(core)
  for event, op in pairs { __add = "+", __sub = "-", __mul = "*",
                           __idiv = "//", __mod = "%" } do
    formal[event] = function(a, b) return index_map.combine(core, op, a, b) end
  end
  formal.__div = function() no_index(core) end
  formal.__pow = formal.__div
  formal.__unm = function(a) return index_map.combine(core, "-", 0, a) end
  formal.__tostring = function(a) return a.text end
end

-- The name of parameter d of f, unlike those before: function(_, _, k).
local function formal_name(f, d, seen)
  local name, n = debug.getlocal(f, d), 1
  local unlike = name
  while seen[unlike] do
    n = n + 1
    unlike = name .. n
  end
  seen[unlike] = true
  return unlike
end

-- An index map given as a function, as what traces keep: a text, or a list of
-- the text and what $1, $2, ... in it stand for.
function index_map.text(core, f)
  local names, params, sampled, seen = {}, {}, {}, {}
  local info = debug.getinfo(f, "u")
  if info.isvararg then
    core.invalid("an index map has named parameters, one for each index")
  end
  for d = 1, info.nparams do
    names[d] = formal_name(f, d, seen)
    params[d] = setmetatable({ text = names[d], sampled = sampled,
                               rank = ATOM }, formal)
  end
  local results = table.pack(f(table.unpack(params)))
  if results.n == 1 and type(results[1]) == "table" and
     not is_formal(results[1]) then
    results = results[1]
  end
  local flat = {}                       -- pairs of begin and end too
  for i = 1, results.n or #results do
    local r = results[i]
    local pair = type(r) == "table" and not is_formal(r) and r or { r }
    for _, x in ipairs(pair) do
      flat[#flat + 1] = to_formal(core, sampled, x).text
    end
  end
  local text = ("(%s) -> (%s)"):format(table.concat(names, ", "),
                                       table.concat(flat, ", "))
  return #sampled > 0 and { text, table.unpack(sampled) } or text
end

return index_map
