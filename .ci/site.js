// Search, copy buttons and the open page contents of the pages that .ci/site writes. Everything can be
// read without this file. On the pages of DocC, which have their own copy buttons, it only searches.
"use strict";
(() => {
    const root = document.querySelector("custom-header")?.shadowRoot ?? document;
    setUpSearch(root.querySelector("[role=search]"));
    if (root === document) {
        addCopyButtons();
        showCurrentPage();
        openContents();
        makeScrollersFocusable();
    }

    function element(name, properties, ...children) {
        const made = Object.assign(document.createElement(name), properties);
        made.append(...children);
        return made;
    }

    // MARK: Search

    function setUpSearch(form) {
        const input = form.querySelector("input");
        const results = form.querySelector(".results");
        const status = form.querySelector(".status");
        const base = form.dataset.base;
        let index;
        form.hidden = false;

        async function load() {
            index ??= fetch(`${base}/search.json`).then((response) => response.json()).then((entries) =>
                entries.map(([title, context, kind, address, text]) => ({
                    title, context, kind, address, text, names: title.toLowerCase(),
                    around: context.toLowerCase(), body: text.toLowerCase(),
                })));
            return index;
        }

        async function search() {
            const query = input.value.trim().toLowerCase();
            if (!query) return close();
            let entries;
            try {
                entries = await load();
            } catch {
                index = undefined;
                status.textContent = "The search index can't be loaded.";
                return;
            }
            if (query !== input.value.trim().toLowerCase()) return;
            const terms = query.split(/\s+/);
            const found = entries.map((entry) => [score(entry, query, terms), entry]).filter(([points]) => points > 0)
                .sort(([a], [b]) => b - a).map(([, entry]) => entry);
            const guides = found.filter((entry) => isGuide(entry));
            const symbols = found.filter((entry) => !isGuide(entry));
            const parts = [["Guides", guides], ["Symbols", symbols]].filter(([, list]) => list.length);
            if (found.length && !isGuide(found[0])) parts.reverse();
            results.replaceChildren(...parts.flatMap(([name, list]) => [
                element("p", {}, name),
                element("ul", {}, ...list.slice(0, 7).map((entry) => item(entry, terms))),
            ]));
            results.hidden = !found.length;
            status.textContent = found.length
                ? `${guides.length} guides and ${symbols.length} symbols found` : "Nothing found";
        }

        function item(entry, terms) {
            const link = element("a", { href: base + entry.address },
                element("b", {}, ...marked(entry.title, terms)),
                element("small", {}, [entry.context, isGuide(entry) ? "" : entry.kind].filter(Boolean).join(" · ")));
            const text = excerpt(entry, terms);
            if (text) link.append(element("span", {}, ...marked(text, terms)));
            return element("li", {}, link);
        }

        function close() {
            results.hidden = true;
            status.textContent = "";
        }

        input.addEventListener("focus", () => load().catch(() => { index = undefined; }));
        input.addEventListener("input", search);
        form.addEventListener("submit", async (event) => {
            event.preventDefault();
            await search();
            results.querySelector("a")?.click();
        });
        form.addEventListener("keydown", (event) => {
            // DocC has shortcuts, and doesn't know this field.
            event.stopPropagation();
            const links = [input, ...results.querySelectorAll("a")];
            const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
            if (step && !results.hidden) {
                event.preventDefault();
                const at = links.indexOf(root.activeElement);
                links[Math.min(Math.max(at + step, 0), links.length - 1)].focus();
            } else if (event.key === "Escape") {
                input.focus();
                close();
            }
        });
        form.addEventListener("focusout", (event) => {
            if (!form.contains(event.relatedTarget)) close();
        });
        form.addEventListener("click", (event) => {
            // A link to another section of this page doesn't load a page.
            if (event.target.closest("a")) close();
        });
        form.addEventListener("focusin", () => {
            if (input.value && results.hidden && root.activeElement === input) search();
        });
        if (root === document) {
            document.addEventListener("keydown", (event) => {
                if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
                    event.preventDefault();
                    input.focus();
                }
            });
        }
    }

    function isGuide(entry) {
        return ["Guide", "File"].includes(entry.kind);
    }

    // Every term must be found. A name counts most, then the page or module, then the text.
    function score(entry, query, terms) {
        let points = 0;
        for (const term of terms) {
            const at = entry.names.indexOf(term);
            if (at >= 0) {
                const isStart = at === 0 || !/[a-z0-9]/.test(entry.names[at - 1])
                    || /[A-Z]/.test(entry.title[at]);
                points += isStart ? 30 : 12;
            } else if (entry.around.includes(term)) {
                points += 8;
            } else if (entry.body.includes(term)) {
                points += 3 + Math.min(entry.body.split(term).length, 6) / 2;
            } else {
                return 0;
            }
        }
        const last = entry.names.replace(/\(.*/, "").split(".").pop();
        if (entry.names === query) points += 100;
        else if (last === query) points += 50;
        else if (entry.names.startsWith(query)) points += 20;
        if (entry.kind === "Module") points += 12;
        if (/^(struct|class|enum|protocol|Guide)$/.test(entry.kind)) points += 6;
        if (entry.kind === "Guide" && !entry.address.includes("#")) points += 6;
        return (entry.kind === "File" ? points / 4 : points) - entry.title.length / 50;
    }

    function excerpt(entry, terms) {
        const at = Math.min(...terms.map((term) => entry.body.indexOf(term)).filter((at) => at >= 0));
        const start = Number.isFinite(at) && at >= 60 ? entry.text.lastIndexOf(" ", at - 40) + 1 : 0;
        const end = entry.text.length > start + 140 ? entry.text.lastIndexOf(" ", start + 140) : entry.text.length;
        return (start ? "… " : "") + entry.text.slice(start, end) + (end < entry.text.length ? " …" : "");
    }

    // A text's parts, those that match a term in a mark.
    function marked(text, terms) {
        const escaped = terms.map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
        return text.split(new RegExp(`(${escaped.join("|")})`, "i"))
            .map((part, at) => at % 2 ? element("mark", {}, part) : part);
    }

    // MARK: The page

    function addCopyButtons() {
        // Browsers offer the clipboard only to pages with HTTPS, and on localhost.
        if (!navigator.clipboard) return;
        for (const block of document.querySelectorAll(".code")) {
            const button = element("button", { type: "button", className: "copy" }, "Copy");
            button.setAttribute("aria-label", "Copy the code");
            button.addEventListener("click", async () => {
                const copying = navigator.clipboard.writeText(copied(block.querySelector("pre")));
                button.textContent = await copying.then(() => "Copied", () => "Not copied");
                setTimeout(() => { button.textContent = "Copy"; }, 2000);
            });
            block.append(button);
        }
    }

    // Of a console, the commands without their prompt and output.
    function copied(code) {
        const text = code.textContent.trimEnd();
        if (code.lang !== "console") return text;
        return text.replace(/\\\n/g, "\\\0").split("\n").filter((line) => line.startsWith("$ "))
            .map((line) => line.slice(2).replaceAll("\0", "\n")).join("\n");
    }

    // Scrolls the menu to the current page's entry.
    function showCurrentPage() {
        const menu = document.querySelector("#site-menu");
        const current = menu.querySelector("[aria-current]");
        if (!current) return;
        const update = () => { menu.scrollTop = current.offsetTop - menu.clientHeight / 2; };
        update();
        menu.addEventListener("toggle", update);
    }

    // The contents are next to the text if the window is wide.
    function openContents() {
        const wide = matchMedia("(min-width: 1200px)");
        const details = document.querySelector(".contents details");
        if (!details) return;
        const update = () => { details.open = wide.matches; };
        update();
        wide.addEventListener("change", update);
    }

    function makeScrollersFocusable() {
        const update = () => {
            for (const scroller of document.querySelectorAll(".table, pre")) {
                if (scroller.scrollWidth > scroller.clientWidth) scroller.tabIndex = 0;
                else scroller.removeAttribute("tabindex");
            }
        };
        update();
        addEventListener("resize", update);
    }
})();
