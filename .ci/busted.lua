-- Runs busted in the Lua that runs this file; the installed command would choose one by itself.
require "busted.runner" { standalone = false }
