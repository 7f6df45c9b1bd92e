-- SPDX-License-Identifier: Apache-2.0
-- Workloads by name: the operator suite of TVM's MetaSchedule (Shao et al.,
-- 2022), float32 of one image, and three kernels of PolyBench.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local ops = declare.ops

local suite = {}

local function wrong(text, ...)
  debug.getregistry()["tessera.invalid"](text:format(...))
end

-- ---- the suite -------------------------------------------------------------

-- Lists of numbers as options of these names.
local function rows(operator, names, lists, more)
  local list = {}
  for i, numbers in ipairs(lists) do
    local o = {}
    for k, name in ipairs(names) do o[name] = numbers[k] end
    for k, v in pairs(more or {}) do o[k] = v end
    list[i] = { operator, o }
  end
  return list
end

local conv2d = { "n", "h", "w", "ci", "co", "k", "stride", "pad" }
local images = { { 1, 224, 224, 3, 64, 7, 2, 3 },
                 { 1, 56, 56, 64, 64, 1, 1, 0 },
                 { 1, 14, 14, 256, 256, 3, 1, 1 },
                 { 1, 7, 7, 512, 512, 3, 1, 1 } }

local workloads = {
  C1D = rows("conv1d_nlc", { "n", "w", "ci", "co", "k", "stride", "pad" },
    { { 1, 256, 64, 128, 3, 2, 1 }, { 1, 128, 128, 256, 1, 2, 0 },
      { 1, 64, 256, 256, 5, 1, 2 }, { 1, 32, 512, 512, 3, 1, 1 } }),
  C2D = rows("conv2d_nhwc", conv2d, images),
  C3D = rows("conv3d_ndhwc",
    { "n", "d", "h", "w", "ci", "co", "k", "stride", "pad" },
    { { 1, 16, 224, 224, 3, 64, 7, 2, 3 }, { 1, 16, 56, 56, 64, 64, 1, 1, 0 },
      { 1, 16, 14, 14, 256, 256, 3, 1, 1 },
      { 1, 16, 7, 7, 512, 512, 3, 1, 1 } }),
  DEP = rows("depthwise_conv2d_nhwc",
    { "n", "h", "w", "c", "k", "stride", "pad" },
    { { 1, 112, 112, 32, 3, 1, 1 }, { 1, 112, 112, 64, 3, 2, 1 },
      { 1, 14, 14, 512, 3, 2, 1 }, { 1, 7, 7, 1024, 3, 1, 1 } }),
  DIL = rows("conv2d_nhwc", conv2d, images, { dilation = 2 }),
  GMM = rows("batch_matmul", { "b", "m", "n", "k" },
    { { 1, 128, 128, 128 }, { 1, 512, 32, 512 }, { 1, 512, 512, 512 },
      { 1, 1024, 1024, 1024 } }),
  GRP = rows("conv2d_nhwc", conv2d,
    { { 1, 56, 56, 64, 128, 3, 2, 1 }, images[2], images[3], images[4] },
    { groups = 4 }),
  T2D = rows("conv2d_transpose_nhwc", conv2d,
    { { 1, 4, 4, 512, 256, 4, 2, 1 }, { 1, 8, 8, 256, 128, 4, 2, 1 },
      { 1, 16, 16, 128, 64, 4, 2, 1 }, { 1, 32, 32, 64, 3, 4, 2, 1 } }),
  CAP = rows("capsule_conv2d_nhwc", conv2d,
    { { 1, 16, 16, 32, 32, 3, 2, 1 }, { 1, 8, 8, 32, 32, 3, 1, 1 },
      { 1, 16, 16, 8, 16, 3, 2, 1 }, { 1, 8, 8, 16, 16, 3, 1, 1 } }),
  NRM = rows("norm", { "b", "m", "n" },
    { { 1, 256, 256 }, { 1, 512, 512 }, { 1, 1024, 1024 }, { 1, 4096, 1024 } }),
  SFM = rows("softmax", { "shape" },
    { { { 256, 256 } }, { { 512, 512 } }, { { 1024, 1024 } },
      { { 2048, 2048 } } }),
  CBR = rows("conv2d_nhwc", conv2d,
    { images[1], { 1, 56, 56, 64, 128, 3, 2, 1 },
      { 1, 28, 28, 128, 256, 1, 2, 0 }, images[4] },
    { bias = true, bn = true, relu = true }),
  TBG = rows("transpose_batch_matmul", { "b", "seq", "heads", "dim" },
    { { 1, 128, 12, 64 }, { 1, 128, 16, 64 }, { 1, 64, 12, 128 },
      { 1, 128, 12, 128 } }),
  C2D_WIN_NHWC = rows("conv2d_winograd_nhwc", { "n", "h", "w", "ci", "co" },
    { { 1, 14, 14, 128, 128 } }),
  C2D_WIN_NCHW = rows("conv2d_winograd_nchw", { "n", "h", "w", "ci", "co" },
    { { 1, 56, 56, 64, 64 } }, { pad = 1 }),
}

local names = { "C1D", "C2D", "C3D", "DIL", "GRP", "DEP", "T2D", "CAP", "GMM",
                "TBG", "CBR", "NRM", "SFM", "C2D_WIN_NHWC", "C2D_WIN_NCHW" }

-- The names that ops.suite takes, a new list.
function suite.suite_names() return table.move(names, 1, #names, 1, {}) end

-- Workload number `index`, from 1, of that name: a program, and in words which
-- operator with which options it is.
function suite.suite(name, index)
  local list = workloads[name]
  if name == nil then
    wrong("ops.suite takes the name of a workload and its index; there are %s",
          table.concat(names, ", "))
  elseif not list then
    wrong("ops.suite: there is no workload %q; there are %s", tostring(name),
          table.concat(names, ", "))
  end
  local row = list[index]
  if not row then
    wrong("ops.suite: %s has no workload %s; it has 1 to %d", name,
          type(index) == "string" and ("%q"):format(index) or tostring(index),
          #list)
  end
  local copy = {}
  for k, v in pairs(row[2]) do copy[k] = v end
  return ops[row[1]](copy), row[1], copy
end

-- ---- PolyBench -------------------------------------------------------------

local sizes = { "MINI", "SMALL", "MEDIUM", "LARGE", "EXTRALARGE" }
local orders = { 40, 120, 400, 2000, 4000 }
local chains = { { 16, 18, 20, 22, 24 }, { 40, 50, 60, 70, 80 },
                 { 180, 190, 200, 210, 220 }, { 800, 900, 1000, 1100, 1200 },
                 { 1600, 1800, 2000, 2200, 2400 } }

-- G = (A B) (C D), of matrices of ni x nk, nk x nj, nj x nm and nm x nl.
local function three_products(ni, nj, nk, nl, nm)
  local function product(name, X, Y, rows_of, columns, inner)
    local k = ts.reduce_axis("k", inner)
    return ts.compute(name, { rows_of, columns }, function(i, j)
      return ts.sum(X(i, k) * Y(k, j), k)
    end)
  end
  local A = ts.placeholder("A", { ni, nk }, "float64")
  local B = ts.placeholder("B", { nk, nj }, "float64")
  local C = ts.placeholder("C", { nj, nm }, "float64")
  local D = ts.placeholder("D", { nm, nl }, "float64")
  local E = product("E", A, B, ni, nj, nk)
  local F = product("F", C, D, nj, nl, nm)
  return ts.program("3mm", { A, B, C, D }, { product("G", E, F, ni, nl, nj) })
end

-- A kernel of PolyBench 4.2 ("3mm", "lu", "cholesky") at one of its dataset
-- sizes, in float64 as there; the factorisations are ops.lu and ops.cholesky.
function suite.polybench(name, size)
  local at
  for i, word in ipairs(sizes) do at = word == size and i or at end
  if name ~= "3mm" and name ~= "lu" and name ~= "cholesky" then
    wrong("ops.polybench: there is no kernel %q; there are 3mm, lu, cholesky",
          tostring(name))
  elseif not at then
    wrong("ops.polybench: there is no size %q; there are %s", tostring(size),
          table.concat(sizes, ", "))
  end
  if name == "3mm" then return three_products(table.unpack(chains[at])) end
  return ops[name] { n = orders[at], dtype = "float64" }
end

return suite
