-- The looks of the page of report/page.lua, on a phone as on a desk, light or dark.

return [[
:root {
  color-scheme: light dark;
  --ground: #f3f5f8; --card: #ffffff; --line: #e1e6ed; --text: #18202c; --quiet: #5a6677;
  --bar: #2f6fdf; --rest: #e6ebf3;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #10141b; --card: #191f29; --line: #2a323f; --text: #e5eaf2; --quiet: #98a4b6;
    --bar: #6c9ff5; --rest: #28303d;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.25rem; max-width: 78rem; background: var(--ground); color: var(--text);
  font: 0.95rem/1.45 system-ui, sans-serif; -webkit-text-size-adjust: 100%;
}
header { display: flex; flex-wrap: wrap; gap: 0 1rem; align-items: baseline; justify-content: space-between;
  margin-bottom: 1rem; }
h1 { margin: 0; font-size: 1.4rem; }
h2 { margin: 0; font-size: 1.05rem; }
p { margin: 0.25rem 0 0; color: var(--quiet); font-size: 0.85rem; }
.tiles { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); margin-bottom: 1rem; }
.card { padding: 1rem 1.1rem; background: var(--card); border: 1px solid var(--line); border-radius: 0.6rem; }
.tile b { display: block; font-size: 1.7rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.tile span { color: var(--quiet); font-size: 0.85rem; }
main { columns: 21rem 3; column-gap: 1rem; }
main .card { break-inside: avoid; margin-bottom: 1rem; }
table { width: 100%; margin-top: 0.6rem; border-collapse: collapse; }
th { padding: 0.3rem 0; text-align: left; font-weight: 400; overflow-wrap: anywhere; }
td { padding: 0.3rem 0 0.3rem 1rem; text-align: right; vertical-align: top; white-space: nowrap; font-weight: 600;
  font-variant-numeric: tabular-nums; }
th span { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden; }
svg { display: block; width: 100%; height: 0.4rem; margin-top: 0.2rem; border-radius: 0.2rem; background: var(--rest); }
rect { fill: var(--bar); }
]]
