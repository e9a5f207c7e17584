#if os(Linux) || os(macOS)
extension BrowserPage {
    /// A program that reads commands in JSON, one a line, and writes one line for each.
    ///
    /// An alarm ends the program and the browser when a command takes too long or none arrives. The end of its input
    /// ends them, too.
    static let program = #"""
        import json, os, sys, time
        signal.alarm(60)
        import axe_playwright_python
        from playwright.sync_api import sync_playwright

        COMMAND, BETWEEN, WAIT = 60, 120, 20
        faults = []
        home = None

        def report(result):
            print(json.dumps(result), flush=True)

        def watch(page):
            def requested(request):
                if not request.url.startswith(("data:", "blob:")) and not (home and request.url.startswith(home)):
                    faults.append(f"request: {request.method} {request.url[:300]}")
            def opened(dialog):
                faults.append(f"dialog: {dialog.message[:300]}")
                dialog.dismiss()
            page.on("request", requested)
            page.on("dialog", opened)
            page.on("console", lambda message: message.type == "error" and faults.append(f"console: {message.text[:300]}"))
            page.on("pageerror", lambda error: faults.append(f"error: {str(error)[:300]}"))
            page.on("websocket", lambda socket: faults.append(f"socket: {socket.url[:300]}"))
            page.on("popup", lambda window: faults.append(f"window: {window.url[:300]}"))
            page.on("crash", lambda _: faults.append("crash"))

        def settle():
            page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))")

        def wait(expression):
            # wait_for_function evaluates text in the page itself, which a policy may forbid; this does not.
            end = time.monotonic() + WAIT
            while not page.evaluate(expression):
                if time.monotonic() > end: raise TimeoutError(f"not true within {WAIT} s")
                settle()

        def judge():
            with open(os.path.join(os.path.dirname(axe_playwright_python.__file__), "axe.min.js"), encoding="utf-8") as file:
                page.evaluate(file.read())
            return page.evaluate("""async () => {
                const { violations, passes } = await axe.run(document);
                const describe = rule => rule.nodes.map(node => `${rule.id}: ${node.target}: ${node.failureSummary}`);
                return { violations: violations.flatMap(describe), passed: passes.map(rule => rule.id) };
            }""")

        def run(what, text, size):
            global home
            if what == "open":
                home = text.partition("#")[0]
                # An address that differs in its fragment alone would not be loaded again.
                page.goto("about:blank")
                page.goto(text)
                settle()
            elif what == "value": return page.evaluate(text)
            elif what == "perform": page.evaluate("async () => {" + text + "}")
            elif what == "wait": wait(text)
            elif what == "press": page.keyboard.press(text)
            elif what == "type": page.keyboard.type(text)
            elif what == "click": page.click(text)
            elif what == "screenshot": page.screenshot(path=text)
            elif what == "scheme": page.emulate_media(color_scheme=text)
            elif what == "judge": return judge()
            elif what == "resize":
                page.set_viewport_size(size)
                settle()
            elif what == "download":
                with page.expect_download() as download: page.click(text)
                with open(download.value.path(), encoding="utf-8") as file: return file.read()
            elif what == "faults":
                settle()
                found = list(faults)
                faults.clear()
                return found
            else: raise ValueError("there is no such command")

        with sync_playwright() as playwright:
            # No name is looked up, whatever a page may ask for.
            options = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
            try:
                browser = playwright.chromium.launch(executable_path=sys.argv[1], args=options)
                page = browser.new_page()
            except Exception as error:
                report({"error": str(error)[:2_000]})
                sys.exit(1)
            page.set_default_timeout(WAIT * 1_000)
            watch(page)
            report({})
            signal.alarm(BETWEEN)
            for line in iter(sys.stdin.readline, ""):
                command = json.loads(line)
                if command["what"] == "end": break
                signal.alarm(COMMAND)
                size = {name: command.get(name) for name in ("width", "height")}
                try: result = {"value": run(command["what"], command.get("text"), size)}
                except Exception as error: result = {"error": f"{type(error).__name__}: {error}"[:2_000]}
                report(result)
                signal.alarm(BETWEEN)
            signal.alarm(10)
            browser.close()
        """#
}
#endif
