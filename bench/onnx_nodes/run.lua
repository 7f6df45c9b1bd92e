-- SPDX-License-Identifier: Apache-2.0
-- One case of ONNX's, from its file, through interpreter, plain and scheduled
-- kernels.
local ts = require "tessera"
local fold = require "tessera.graph.onnx.fold"
local import = require "tessera.graph.onnx.import"
local program = require "tessera.graph.program"
local scheduled = require "support.scheduled"

-- ---- tensors ---------------------------------------------------------------

local function each_index(shape, f)
  local at = {}
  local function walk(d)
    if d > #shape then return f(table.unpack(at)) end
    for i = 0, shape[d] - 1 do
      at[d] = i
      walk(d + 1)
    end
  end
  walk(1)
end

-- bfloat16 is in the files as float32.
local function from_file(x, path)
  if x.dtype ~= "bfloat16" then return ts.tensor(x.dtype, x.shape, path) end
  local wide = ts.tensor("float32", x.shape, path)
  local t = ts.tensor("bfloat16", x.shape)
  each_index(x.shape, function(...)
    local at = { ... }
    at[#at + 1] = wide:get(...)
    t:set(table.unpack(at))
  end)
  return t
end

-- A tensor of values that stand in the case.
local function from_values(x)
  local t, i = ts.tensor(x.dtype, x.shape), 0
  each_index(x.shape, function(...)
    local at = { ... }
    i = i + 1
    at[#at + 1] = x.values[i]
    t:set(table.unpack(at))
  end)
  return t
end

-- Where two tensors differ by more than a case allows, and more than by the
-- last bits of a type: ONNX rounds to 16 bits in the middle, too.
local last_bit = { bfloat16 = 2.0 ^ -6, float16 = 2.0 ^ -10 }

-- Where elements are sums that cancel, even by the last bits of the greatest:
-- ONNX's own are off by those.
local cancels = { DFT = true, STFT = true }

local function difference(want, got, c, shape)
  local where
  local rtol = math.max(c.rtol, last_bit[want:dtype()] or 0)
  local atol = c.atol
  if cancels[c.op] then
    each_index(shape, function(...)
      atol = math.max(atol, math.abs(want:get(...)) * 2.0 ^ -22)
    end)
  end
  each_index(shape, function(...)
    if where then return end
    local x, y = want:get(...), got:get(...)
    local same = x == y or x ~= x and y ~= y
    if not same and type(x) == "number" and type(y) == "number" then
      same = math.abs(x - y) <= atol + rtol * math.abs(x)
    end
    if not same then
      where = ("%s is %s, not %s"):format(table.concat({ ... }, ","), y, x)
    end
  end)
  return where
end

-- ---- ways to run a program -------------------------------------------------

local ways = {
  { "interpreter", function(p, args) ts.interpret(p, args) end },
  { "plain", function(p, args) ts.build(p)(table.unpack(args)) end },
  { "scheduled", function(p, args)
    ts.build(scheduled(p))(table.unpack(args))
  end },
}

-- ---- one case --------------------------------------------------------------

-- The graph as one program, and which value each of its parameters is; no
-- program where all results are constants or inputs.
local function whole(g)
  local outside, any = {}, false
  for _, v in ipairs((g:outputs())) do
    if v.kind == "result" then outside[v.id], any = true, true end
  end
  if not any then return nil, {}, {} end
  return program.of(g, g:nodes(), function(id) return outside[id] end)
end

-- The tensors of values by number: of inputs and constants, and room for
-- results.
local function tensors_of(g, inputs, outputs, given)
  local tensor, args = {}, {}
  for _, list in ipairs { inputs, (g:outputs()), outputs } do
    for _, v in ipairs(list) do
      tensor[v.id] = tensor[v.id] or v.kind == "constant" and v:tensor() or
                     v.kind == "input" and given[v.name] or
                     ts.tensor(v.dtype, v.shape)
    end
  end
  for _, list in ipairs { inputs, outputs } do
    for _, v in ipairs(list) do args[#args + 1] = tensor[v.id] end
  end
  return tensor, args
end

-- Nothing, or what is wrong with a result: an output whose extent the data
-- decides has as many elements along a dimension as another one says.
local function check(c, g, bounds, tensor, load_tensor)
  local values, names, at = g:outputs()
  local by_name = {}
  for k, name in ipairs(names) do by_name[name] = values[k] end
  for k, want in ipairs(c.outputs) do
    local v = by_name[want.name]
    local got, bound = tensor[v.id], bounds[want.name]
    if want.dtype ~= got:dtype() then
      return ("output %d is %s, not %s"):format(k, got:dtype(), want.dtype)
    end
    local a, b = table.concat(got:shape(), "x"), table.concat(want.shape, "x")
    if bound then
      at = fold.elements(tensor[by_name[want.name .. ".count"].id])[1]
      if at ~= want.shape[bound.dim] then
        return ("output %d has %d, not %d"):format(k, at,
                                                   want.shape[bound.dim])
      end
    elseif a ~= b then
      return ("output %d is of shape %s, not %s"):format(k, a, b)
    end
    local where = difference(load_tensor(want), got, c, want.shape)
    if where then return ("output %d: %s"):format(k, where) end
  end
end

local function read(c, folder, given)
  local from = c.bytes and ts.read_onnx(nil, c.bytes) or
               ts.read_onnx(folder .. "/" .. c.model)
  return import.run(from, c.name, { known = given })
end

-- "passed", "WRONG" and where, or "no" and why it does not run; tensors are in
-- `folder`, where they do not stand in the case.
return function(c, folder)
  local function load_tensor(x)
    return x.values and from_values(x) or from_file(x, folder .. "/" .. x.file)
  end
  local given = {}
  for _, list in ipairs { c.inputs, c.outputs } do
    for _, x in ipairs(list) do
      if x.other then return "no", "type " .. x.other end
    end
  end
  for _, x in ipairs(c.inputs) do given[x.name] = load_tensor(x) end
  local ok, g, bounds = pcall(read, c, folder, given)
  if not ok then
    return "no", tostring(type(g) == "table" and g.message or g)
  end
  local p, inputs, outputs = whole(g)
  for _, way in ipairs(ways) do
    local fine, why = pcall(function()
      local tensor, args = tensors_of(g, inputs, outputs, given)
      if p then way[2](p, args) end
      return check(c, g, bounds, tensor, load_tensor)
    end)
    if why then
      return "WRONG", ("%s: %s"):format(way[1], tostring(why):gsub("\n.*", ""))
    end
    if not fine then return "WRONG", way[1] .. ": ?" end
  end
  return "passed"
end
