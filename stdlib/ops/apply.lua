-- SPDX-License-Identifier: Apache-2.0
-- The two forms of an operator: a program of options, and tensors of tensors,
-- whose extents and types are the options of the same names.
local ts = require "tessera"
local options = require "tessera.lang.options"
local declare = require "tessera.ops.declare"

local wrong = declare.wrong

-- ---- names -----------------------------------------------------------------

-- The operator that is being applied: its row, and what its blocks' names begin
-- with; nil where they are those of its own.
local scope

-- What a block is called that the operator that is being applied calls x.
function declare.named(x)
  if not scope or not scope.prefix then return x end
  local result = scope.row.result or "Y"
  if x == result or x == scope.row.name then return scope.prefix end
  return scope.prefix .. "_" .. x
end

-- What the row's function gives, with names that begin with `prefix`.
local function applied(row, prefix, o, tensors)
  local before = scope
  local _ <close> = setmetatable({}, {
    __close = function() scope = before end,
  })
  scope = { row = row, prefix = prefix }
  return row.apply(o, table.unpack(tensors, 1, #row.tensors))
end

-- ---- shapes ----------------------------------------------------------------

local function shape_of(t, o, i)
  if type(t.shape) == "function" then return t.shape(o, i) end
  return t.shape
end

-- Whether there is such a tensor, as far as options say.
local function is_there(t, o) return not t.when or o[t.when] end

local function type_of(t, o)
  if type(t.type) == "function" then return t.type(o) end
  return declare.is(t.type, "any") and t.type or o[t.type]
end

-- The extents that an entry of a shape stands for, added to a list.
local function extents(entry, o, list)
  if type(entry) == "function" then entry = entry(o) end
  if type(entry) ~= "string" then
    list[#list + 1] = entry
    return
  end
  local rest, part, at = entry:match "^(.*)%.%.%.$", entry:match "^(.*)%.(%d+)$"
  if rest then
    local x = type(o[rest]) == "table" and o[rest] or { o[rest] }
    table.move(x, 1, #x, #list + 1, list)
  elseif part then
    local x = o[part]
    list[#list + 1] = type(x) == "table" and x[math.tointeger(at)] or x
  else
    list[#list + 1] = o[entry]
  end
end

-- ---- a program of options --------------------------------------------------

local function placeholder(t, o, i)
  local shape = {}
  for _, entry in ipairs(shape_of(t, o, i)) do extents(entry, o, shape) end
  return ts.placeholder(t.name .. (i or ""), shape, type_of(t, o))
end

function declare.program(row, given)
  local o = declare.options(row, given)
  local tensors, inputs = {}, {}
  for p, t in ipairs(row.tensors) do
    if t.list then
      tensors[p] = {}
      for i = 1, t.list(o) do
        tensors[p][i] = placeholder(t, o, i)
        inputs[#inputs + 1] = tensors[p][i]
      end
    elseif is_there(t, o) then
      tensors[p] = placeholder(t, o)
      inputs[#inputs + 1] = tensors[p]
    end
  end
  return ts.program(row.program and row.program(o) or row.name, inputs,
                    { applied(row, nil, o, tensors) })
end

-- ---- tensors of tensors ----------------------------------------------------

local function is_tensor(x) return options.is(x, "buffer") end
local function is_symbolic(x) return type(x) == "userdata" end
local function same(x, y) return tostring(x) == tostring(y) end

-- Option `name`, or entry `at` of it, is x, an extent that a tensor has.
local function bind(row, o, name, at, x, where)
  local free = row.symbolic == true or row.symbolic and row.symbolic[name]
  if is_symbolic(x) and not free then
    wrong(row.name, "%s is the symbolic size %s, and '%s' has to be a number",
          where, x, name)
  end
  local have = o[name]
  if at then
    if type(have) ~= "table" then
      have = { [at] = have }
      o[name] = have
    end
    if have[at] == nil then have[at] = x end
    have = have[at]
  elseif have == nil then
    o[name], have = x, x
  end
  if not same(have, x) then
    wrong(row.name, "%s is %s, and '%s' is %s", where, x, name, have)
  end
end

-- The entries of a shape for a tensor of `rank`: the number of those that
-- "shape..." stands for.
local function rest_of(row, t, shape, rank)
  local fixed, open = 0, false
  for _, entry in ipairs(shape) do
    if type(entry) == "string" and entry:find "%.%.%.$" then open = true
    else fixed = fixed + 1 end
  end
  if rank < fixed or rank > fixed and not open then
    wrong(row.name, "%s has %d dimension%s, not %s%d", t.name, rank,
          rank == 1 and "" or "s", open and "at least " or "", fixed)
  end
  return rank - fixed
end

-- The options so far, as they are read: with defaults for those left out, and
-- the operator's name.
local function with_defaults(row, o)
  return setmetatable({ name = row.name }, { __index = function(_, name)
    if o[name] ~= nil then return o[name] end
    for _, option in ipairs(row.options) do
      if option.name == name then return option.value end
    end
  end })
end

-- Options from the extents of a tensor; those that are computed are for later.
local function bind_shape(row, t, x, o, i, later)
  local shape, extent, d = shape_of(t, with_defaults(row, o), i), x.shape, 0
  local rest = rest_of(row, t, shape, #extent)
  for _, entry in ipairs(shape) do
    local where = ("dimension %d of %s"):format(d, t.name)
    local list = type(entry) == "string" and entry:match "^(.*)%.%.%.$"
    local part, at
    if type(entry) == "string" then part, at = entry:match "^(.*)%.(%d+)$" end
    if list then
      o[list] = o[list] or table.move(extent, d + 1, d + rest, 1, {})
      if #o[list] ~= rest then
        wrong(row.name, "%s has %d dimensions, and '%s' has %d entries", t.name,
              #extent, list, #o[list])
      end
      for k = 1, rest do
        bind(row, o, list, k, extent[d + k],
             ("dimension %d of %s"):format(d + k - 1, t.name))
      end
      d = d + rest - 1
    elseif type(entry) == "string" then
      bind(row, o, part or entry, part and math.tointeger(at), extent[d + 1],
           where)
    else
      later[#later + 1] = { entry, extent[d + 1], where }
    end
    d = d + 1
  end
end

local function bind_type(row, t, x, o, later)
  if type(t.type) == "function" or declare.is(t.type, "any") then
    later[#later + 1] = { t, x }
    return
  end
  o[t.type] = o[t.type] or x.dtype
  if o[t.type] ~= x.dtype then
    wrong(row.name, "%s is %s, not %s", t.name, x.dtype, o[t.type])
  end
end

-- What shapes and types are computed of options is what the tensors have.
local function check_computed(row, o, shapes, types)
  for _, c in ipairs(shapes) do
    local want = {}
    extents(c[1], o, want)
    if not same(want[1], c[2]) then
      wrong(row.name, "%s is %s, not %s", c[3], c[2], want[1])
    end
  end
  for _, c in ipairs(types) do
    local t, x = table.unpack(c)
    if type_of(t, o) ~= x.dtype then
      wrong(row.name, "%s is %s, not %s", t.name, x.dtype, type_of(t, o))
    end
  end
end

local function names_of(row)
  local list = {}
  for i, t in ipairs(row.tensors) do
    list[i] = t.when and "[" .. t.name .. "]" or
              t.name .. (t.list and ".." or "")
  end
  return #list > 0 and table.concat(list, ", ") or "no tensors"
end

-- The tensors by position and by name, the options, and the name of the blocks.
local function arguments(row, ...)
  local args, tensors, o, p = table.pack(...), {}, {}, 0
  local last = args[args.n]
  local given = type(last) == "table" and last or {}
  local n = type(last) == "table" and args.n - 1 or args.n
  for i = 1, n do
    local t = row.tensors[p]
    if not (t and t.list) then p = p + 1 end
    t = row.tensors[p]
    if not t and args[i] ~= nil or
       args[i] ~= nil and not is_tensor(args[i]) then
      wrong(row.name, "argument %d is %s; it takes %s and a table of options",
            i, options.text_of(args[i]), names_of(row))
    elseif t and t.list then
      tensors[p] = tensors[p] or {}
      table.insert(tensors[p], args[i])
    elseif t then
      tensors[p] = args[i]
    end
  end
  for key, x in pairs(given) do o[key] = x end
  for i, t in ipairs(row.tensors) do
    if is_tensor(o[t.name]) then tensors[i], o[t.name] = o[t.name], nil end
  end
  local name = o.name
  o.name = nil
  if name ~= nil and type(name) ~= "string" then
    wrong(row.name, "'name' is %s, not a string", options.text_of(name))
  end
  return tensors, o, name
end

-- Sets the options that say which tensors there are.
local function set_presence(row, tensors, o)
  for i, t in ipairs(row.tensors) do
    if t.when then o[t.when] = o[t.when] or tensors[i] ~= nil end
  end
  for i, t in ipairs(row.tensors) do
    if not tensors[i] and is_there(t, o) then
      wrong(row.name, "%s is missing; it takes %s and a table of options",
            t.name, names_of(row))
    end
  end
end

-- Options as the checks see them: 1 for symbolic extents.
local function numbers(o)
  local list = {}
  for key, x in pairs(o) do
    if type(x) == "table" then x = numbers(x) end
    list[key] = is_symbolic(x) and 1 or x
  end
  return list
end

local function by_name(row, tensors)
  local list = {}
  for i, t in ipairs(row.tensors) do list[t.name] = tensors[i] end
  return list
end

-- A tensor of the same elements that an operator may compute in.
local function copy_of(t, x)
  return ts.compute(declare.named(t.name), x.shape,
                    function(...) return x(...) end)
end

-- Copies what the operator would change, unless it may.
local function copy_changed(row, prefix, tensors, in_place)
  local before = scope
  scope = { row = row, prefix = prefix }
  for p, t in ipairs(row.tensors) do
    if t.changed and not in_place then tensors[p] = copy_of(t, tensors[p]) end
  end
  scope = before
end

local function changes(row)
  for _, t in ipairs(row.tensors) do
    if t.changed then return true end
  end
  return false
end

function declare.apply(row, ...)
  local tensors, o, name = arguments(row, ...)
  local in_place = changes(row) and o.in_place
  if in_place then o.in_place = nil end
  set_presence(row, tensors, o)
  if row.infer then row.infer(o, by_name(row, tensors)) end
  local shapes, types = {}, {}
  for p, t in ipairs(row.tensors) do
    local list = t.list and tensors[p] or { tensors[p] }
    for i, x in ipairs(list) do
      bind_shape(row, t, x, o, t.list and i, shapes)
      bind_type(row, t, x, o, types)
    end
  end
  o = declare.options(row, o, numbers(o))
  check_computed(row, o, shapes, types)
  local prefix = declare.named(name or row.name)
  copy_changed(row, prefix, tensors, in_place)
  return applied(row, prefix, o, tensors)
end

return declare
