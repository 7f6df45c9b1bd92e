-- SPDX-License-Identifier: Apache-2.0
-- One case of ONNX's through interpreter, plain and scheduled kernels.
local ts = require "tessera"
local nodes = require "onnx_nodes.nodes"
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

-- ---- one case --------------------------------------------------------------

local ways = {
  { "interpreter", function(program, args) ts.interpret(program, args) end },
  { "plain", function(program, args)
    ts.build(program)(table.unpack(args))
  end },
  { "scheduled", function(program, args)
    ts.build(scheduled(program))(table.unpack(args))
  end },
}

-- The tensors of a run: inputs, and outputs to be filled.
local function arguments(program, n)
  local args, params = {}, program:params()
  for i, t in ipairs(n.tensors) do args[i] = t end
  for i = #args + 1, #params do
    args[i] = ts.tensor(params[i].dtype, params[i].shape)
  end
  return args
end

-- Nothing, or what is wrong with a result; those that are bounded have as many
-- elements along the first dimension (or `dim`) as another one says.
local function check(c, n, args, load_tensor)
  for k, result in ipairs(n.results) do
    local want = c.outputs[result.output]
    local got = args[#n.tensors + k]
    if want and result.output > 0 then
      if want.dtype ~= got:dtype() then
        return ("output %d is %s, not %s"):format(k, got:dtype(), want.dtype)
      end
      local a, b = table.concat(got:shape(), "x"), table.concat(want.shape, "x")
      if a ~= b and not result.count then
        return ("output %d is of shape %s, not %s"):format(k, a, b)
      end
      local at = result.count and args[#n.tensors + result.count]:get(0)
      if at and at ~= want.shape[result.dim or 1] then
        return ("output %d has %d, not %d"):format(k, at,
                                                   want.shape[result.dim or 1])
      end
      local where = difference(load_tensor(want), got, c, want.shape)
      if where then return ("output %d: %s"):format(k, where) end
    end
  end
end

-- "passed", "WRONG" and where, or "no" and why it does not run; tensors are in
-- `folder`, where they do not stand in the case.
return function(c, folder)
  local function load_tensor(x)
    return x.values and from_values(x) or from_file(x, folder .. "/" .. x.file)
  end
  for _, list in ipairs { c.inputs or {}, c.outputs or {} } do
    for _, x in ipairs(list) do
      if x and x.other then return "no", "type " .. x.other end
    end
  end
  if c.nodes then return "no", "several nodes" end
  local ok, n = pcall(nodes.program, c, load_tensor)
  if not ok then return "no", (tostring(n):gsub("\n.*", "")) end
  for _, way in ipairs(ways) do
    local fine, why = pcall(function()
      local args = arguments(n.program, n)
      way[2](n.program, args)
      return check(c, n, args, load_tensor)
    end)
    if why then
      return "WRONG", ("%s: %s"):format(way[1], tostring(why):gsub("\n.*", ""))
    end
    if not fine then return "WRONG", way[1] .. ": ?" end
  end
  return "passed"
end
