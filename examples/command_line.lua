-- What the command lines of the examples share. Needs argparse: `luarocks install argparse`, or Debian's lua-argparse.

local argparse = require "argparse"

local format = string.format

local command_line = {}

local NAME = arg[0]:match "[^/\\]*$"

-- A parser for this program; `description` is what --help says of it.
function command_line.new(description)
  return argparse(NAME, description):help_max_width(80)
end

local function add_number(parser, option, text, limits, what, pattern)
  local lowest, highest = limits[1], limits[2]
  local range = format("%s from %.16g to %.16g", what, lowest, highest)
  return parser:option(option, format("%s: %s", text, range), format("%.16g", limits.default)):argname "N"
    :convert(function(argument)
      local number = argument:match(pattern) and tonumber(argument)
      if number and lowest <= number and number <= highest then
        return number
      end
      return nil, format("option '%s' takes %s", option, range)
    end)
end

-- Adds an option that takes a whole number; limits: { lowest, highest, default = number }.
function command_line.whole(parser, option, text, limits)
  return add_number(parser, option, text, limits, "a whole number", "^%d+$")
end

-- Adds an option that takes a number in decimal digits.
function command_line.decimal(parser, option, text, limits)
  return add_number(parser, option, text, limits, "a number", "^%d*%.?%d+$")
end

-- Tells the user of something on standard error.
function command_line.complain(text)
  io.stderr:write(NAME, ": ", text, "\n")
end

-- Tells the user what cannot be done, and gives up.
function command_line.fail(text)
  command_line.complain(text)
  os.exit(2)
end

-- Fails because of a mistake on the command line, and says how it has to look.
function command_line.misused(parser, text)
  command_line.fail(text .. "\n" .. parser:get_usage())
end

-- The options and arguments that the program was called with.
function command_line.parse(parser)
  local parsed, options = parser:pparse()
  if not parsed then
    command_line.misused(parser, options)
  end
  return options
end

-- Adds the one argument FILE, for command_line.open.
function command_line.input(parser)
  parser:argument("file", 'Standard input when there is none or it is "-".'):argname "FILE":args "?"
end

-- The file of that name, or standard input if there is no name or it is "-", and what to call it; fails if it cannot be
-- opened.
function command_line.open(name)
  if not name or name == "-" then
    return io.stdin, "standard input"
  end
  local file, problem = io.open(name, "rb")
  return file or command_line.fail(problem), name
end

return command_line
