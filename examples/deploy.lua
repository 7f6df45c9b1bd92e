-- SPDX-License-Identifier: Apache-2.0
-- What examples/deploy.c calls: a product of two matrices.  Tuned once, it is
-- built into a library that needs neither Tessera nor LLVM:
--
--   tessera tune examples/deploy.lua --trials 64 --db tune.db
--   tessera build examples/deploy.lua --db tune.db -o matmul.so
local ops = require "tessera.ops"
return ops.matmul { m = 96, n = 96, k = 96 }
