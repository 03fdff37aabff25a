-- Writes an access log in combined format: what a middling web site sees, faults included. The same seed gives the
-- same bytes with every Lua.
--
--   lua make_log.lua [--lines N] [--seed S] > access.log
--
-- Paths follow Zipf's law with a long tail of paths asked for once; visitors come back; bots visit by the thousand;
-- about one line in fifty is odd: empty, garbage, binary, cut short, without a request, with quotes where they hurt,
-- with a URL of several KB. Addresses are from the ranges reserved for benchmarks and documentation.

local here = arg[0]:match("^(.*[/\\])") or ""
local command_line = dofile(here .. "command_line.lua")
local random_numbers = dofile(here .. "random_numbers.lua")
local new_random, new_zipf = random_numbers.new, random_numbers.zipf

local floor = math.floor
local char, format, rep, sub = string.char, string.format, string.rep, string.sub
local concat = table.concat

-- Paths -----------------------------------------------------------------------------------------------------------

local FRONT_PATHS = {
  "/", "/favicon.ico", "/css/main.css", "/js/app.js", "/images/logo.svg", "/robots.txt", "/feed.xml", "/index.html",
  "/api/v1/status", "/login", "/about", "/search", "/fonts/text.woff2", "/sitemap.xml", "/cart", "/contact",
}

local WORDS = {
  "amber", "anchor", "autumn", "basalt", "birch", "bridge", "candle", "cedar", "copper", "drift", "ember", "falcon",
  "garden", "granite", "harbour", "island", "juniper", "kettle", "lantern", "meadow", "mirror", "north", "orchard",
  "pebble", "quarry", "river", "saddle", "shadow", "thistle", "timber", "velvet", "willow", "winter", "yarrow",
}

local UTF8_WORDS = { "café", "grüße", "Ελλάδα", "привет", "日本語", "भारत", "مرحبا", "smörgåsbord", "🌍" }

local function word(number)
  return WORDS[number % #WORDS + 1]
end

-- One function for each way a site names its pages. Every path holds its rank, so that no two ranks share one.
local PATH_SHAPES = {
  function(rank)
    return format("/blog/%d/%02d/%s-%s-%d", 2010 + rank % 15, rank % 12 + 1, word(rank * 7), word(rank * 13), rank)
  end,
  function(rank)
    return format("/products/%s/%d", word(rank * 5), rank)
  end,
  function(rank)
    return format("/images/%s/%06x-640x480.jpg", word(rank * 3), rank)
  end,
  function(rank)
    return format("/docs/%s/%s/%d.html", word(rank * 11), word(rank), rank)
  end,
  function(rank)
    return format("/%s/%s/%d", UTF8_WORDS[rank % #UTF8_WORDS + 1], word(rank), rank)
  end,
  function(rank)
    return format("/wiki/%%C3%%A9tude_%%28%s%%29_%d", word(rank), rank)
  end,
  function(rank)
    return format("/api/v1/items/%d", rank)
  end,
}

local function ranked_path(rank)
  return FRONT_PATHS[rank] or PATH_SHAPES[rank % #PATH_SHAPES + 1](rank)
end

-- Ways of asking for what nobody asks for again: previews, sessions, mistyped and made-up names.
local LONE_SHAPES = { "/preview/%08x%06x.webp", "/session/%08x/%06x", "/search/%x+%x", "/old/page%d-%d.php" }

local QUERIES = { "?utm_source=feed", "?page=2", "?q=amber+river", "?v=20240301", "?ref=http://example.org/?a=b" }

-- Visitors --------------------------------------------------------------------------------------------------------

local BROWSERS = {
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/122.0.0.0 Safari/537.36",
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15" ..
    " (KHTML, like Gecko) Version/17.3 Safari/605.1.15",
  "Mozilla/5.0 (X11; Linux x86_64; rv:123.0) Gecko/20100101 Firefox/123.0",
  "Mozilla/5.0 (iPhone; CPU iPhone OS 17_3 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148",
  "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36" ..
    " (KHTML, like Gecko) Chrome/122.0.0.0 Mobile Safari/537.36",
}

local BOTS = {
  "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
  "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
  "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)",
  "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
  "curl/8.5.0",
  "python-requests/2.31.0",
}

-- As Apache and nginx write a quote, as careless writers do, and as it must not be misread.
local QUOTED_AGENTS = {
  [[Mozilla/5.0 (\"quoted\"; compatible)]],
  [[Mozilla/5.0 (\x22quoted\x22; compatible)]],
  [[Mozilla/5.0 ("raw quotes"; compatible)]],
  [[" 200 5 "-" "GET /not-a-request HTTP/1.1" 404 ]],
  [[\\]],
}

local BOT_COUNT = 40

-- A different address for each of the first 131,072 numbers: an odd factor permutes them. One in five is IPv6.
local function address_of(number)
  local mixed = number * 40503 % 131072
  if number % 5 == 0 then
    return format("2001:db8:%x:%x::%x", mixed % 65536, number % 4099, floor(mixed / 256) + 1)
  end
  return format("198.%d.%d.%d", 18 + floor(mixed / 65536), floor(mixed / 256) % 256, mixed % 256)
end

-- Lines -----------------------------------------------------------------------------------------------------------

local MONTHS = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" }

-- Seconds since 1 January 2024 as the log writes them. A year of 366 days, then over again.
local MONTH_LENGTHS = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }

local function timestamp(seconds)
  local day, month = floor(seconds / 86400) % 366, 1
  while day >= MONTH_LENGTHS[month] do
    day = day - MONTH_LENGTHS[month]
    month = month + 1
  end
  local in_day = seconds % 86400
  return format("%02d/%s/2024:%02d:%02d:%02d +0000", day + 1, MONTHS[month], floor(in_day / 3600),
    floor(in_day / 60) % 60, in_day % 60)
end

local function line_of(hit)
  return concat {
    hit.address, " - ", hit.user or "-", " [", hit.time, '] "', hit.request, '" ', hit.status, " ", hit.size,
    ' "', hit.referrer, '" "', hit.agent, '"',
  }
end

-- Makes the function that draws one hit after the other.
local function new_traffic(random)
  local draw_path = new_zipf(random, 30000, 0)
  local draw_visitor = new_zipf(random, 25000, 200)
  local paths = {}
  local seconds = 0

  local function pick(list)
    return list[random(#list)]
  end

  local function a_path()
    if random(100) <= 8 then
      return format(pick(LONE_SHAPES), random(2147483562), random(16777216)), true
    end
    local rank = draw_path()
    local path = paths[rank]
    if not path then
      path = ranked_path(rank)
      paths[rank] = path
    end
    return path, false
  end

  local function a_method()
    local draw = random(100)
    return draw <= 92 and "GET" or draw <= 96 and "POST" or draw <= 98 and "HEAD" or draw <= 99 and "OPTIONS" or "PUT"
  end

  local function a_protocol()
    local draw = random(10)
    return draw <= 6 and "HTTP/1.1" or draw <= 9 and "HTTP/2.0" or "HTTP/1.0"
  end

  local function a_status(lone)
    local draw = random(100)
    if lone and draw <= 40 then
      return "404"
    end
    return draw <= 88 and "200" or draw <= 94 and "304" or draw <= 96 and "301" or draw <= 99 and "404" or "500"
  end

  return function()
    seconds = seconds + random(4) - 1
    local path, lone = a_path()
    local query = random(10) == 1 and pick(QUERIES) or ""
    local status = a_status(lone)
    local hit = {
      time = timestamp(seconds),
      path = path,
      request = concat { a_method(), " ", path, query, " ", a_protocol() },
      status = status,
      size = status == "304" and "-" or format("%d", random(60000)),
    }
    if random(100) <= 12 then
      local bot = random(BOT_COUNT)
      hit.address = address_of(bot)
      hit.agent = BOTS[bot % #BOTS + 1]
      hit.referrer = "-"
    else
      local visitor = BOT_COUNT + draw_visitor()
      hit.address = address_of(visitor)
      hit.agent = BROWSERS[visitor % #BROWSERS + 1]
      hit.referrer = random(2) == 1 and "-" or "https://www.example.org" .. ranked_path(random(50))
    end
    return hit
  end
end

-- Faults ----------------------------------------------------------------------------------------------------------

-- A string of random bytes, newline excepted.
local function random_bytes(random, length, lowest, highest)
  local bytes = {}
  for index = 1, length do
    local code = lowest + random(highest - lowest + 1) - 1
    bytes[index] = char(code == 10 and 0 or code)
  end
  return concat(bytes)
end

local function refused(hit, request, status)
  hit.request, hit.status, hit.size, hit.referrer = request, status, "0", "-"
  return line_of(hit)
end

-- Each fault with how many lines in 10,000 have it. A fault makes a line of a hit.
local FAULTS = {
  { 12, function() return "" end },
  { 12, function(_, random) return random_bytes(random, random(120), 32, 126) end },
  { 8, function(_, random) return random_bytes(random, random(300), 0, 255) end },
  { 25, function(hit, random)
    local line = line_of(hit)
    return sub(line, 1, random(#line) - 1)
  end },
  { 25, function(hit) return refused(hit, "-", "400") end },
  { 8, function(hit) return refused(hit, "-", "408") end },
  { 5, function(hit) return refused(hit, "", "400") end },
  { 12, function(hit) return refused(hit, [[\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03]], "400") end },
  { 8, function(hit, random)
    return refused(hit, "GET " .. hit.path .. rep("/" .. word(random(1000)), 300 + random(900)) .. " HTTP/1.1", "414")
  end },
  { 30, function(hit, random)
    hit.agent = QUOTED_AGENTS[random(#QUOTED_AGENTS)]
    return line_of(hit)
  end },
  { 8, function(hit)
    hit.referrer = 'https://www.example.org/search?q="amber river"'
    return line_of(hit)
  end },
  { 8, function(hit) return refused(hit, [[GET /say/\"hello\" 200 times HTTP/1.1]], "404") end },
  { 4, function(hit) return refused(hit, [[GET /say/"hello" HTTP/1.1]], "404") end },
  { 4, function(hit) return refused(hit, "GET " .. hit.path, "200") end },
  { 4, function(hit) return refused(hit, "GET /with space/in it HTTP/1.1", "404") end },
  { 4, function(hit) return refused(hit, "OPTIONS * HTTP/1.1", "200") end },
  { 4, function(hit, random)
    return refused(hit, "GET /" .. random_bytes(random, 12, 128, 255) .. " HTTP/1.1", "404")
  end },
  { 20, function(hit, random)
    hit.user = random(2) == 1 and "alice" or "John Doe"
    return line_of(hit)
  end },
}

local function new_line_maker(random)
  local next_hit = new_traffic(random)
  return function()
    local hit = next_hit()
    local draw = random(10000)
    for index = 1, #FAULTS do
      local share, fault = FAULTS[index][1], FAULTS[index][2]
      if draw <= share then
        return fault(hit, random)
      end
      draw = draw - share
    end
    return line_of(hit)
  end
end

-- Command line ----------------------------------------------------------------------------------------------------

local function read_options()
  local parser = command_line.new "Writes an access log in combined format to standard output, faults included."
  command_line.whole(parser, "--lines", "How many lines", { 0, 1e9, default = 200000 })
  command_line.whole(parser, "--seed", "Another log for each", { 0, 1e12, default = 1 })
  return command_line.parse(parser)
end

local function main()
  local options = read_options()
  local next_line = new_line_maker(new_random(options.seed))
  io.stdout:setvbuf("full", 65536)
  for _ = 1, options.lines do
    io.write(next_line(), "\n")
  end
end

main()
