#if os(Linux) || os(macOS)
import Foundation
import NetworkingTesting
import HTTPTypes
import Networking
import NetworkingInspector
import TestSupport
import Testing

extension Loopback {
    /// The report in a real browser.
    @Suite(.requires(.browser), .timeLimit(.minutes(20)))
    struct ReportTests {
        // MARK: The browser itself

        /// Shows that the browser reports faults, on which the other tests rely.
        @Test func browserReportsFaultsOfAPage() async throws {
            let page = """
                <!doctype html><html lang="en"><title>Bad</title><main><h1>Bad</h1><p style="color:#ccc;background:#fff">Pale</p>
                <div style="width:3000px">Wide</div></main>
                <script>
                    alert("hello"); console.error("oops"); new Image().src = "https://elsewhere.example/x";
                    window.open("about:blank"); setTimeout(() => { throw new Error("late"); });
                </script>
                """
            try await withReport(Data(page.utf8)) { page in
                let faults = try await page.faults()
                for start in [
                    "dialog: hello", "console: oops", "request: GET https://elsewhere.example/x", "window:",
                    "error: late",
                ] {
                    #expect(faults.contains { $0.hasPrefix(start) }, "\(faults)")
                }
                let violations = try await page.judgement().violations
                #expect(violations.contains { $0.hasPrefix("color-contrast: p") }, "\(violations)")
                #expect(try await page.isTooWide())
                _ = try await page.faults()
            }
        }

        /// Shows that the texts would run without escaping, so that the next tests prove something.
        @Test func unescapedScriptsRun() async throws {
            var report = String(decoding: try HostileSession.imported().report(), as: UTF8.self)
            report = Self.withoutPolicy(report).replacing("\\u003c", with: "<")
            try await withReport(Data(report.utf8)) { page in
                try await page.wait(for: "window.hacked === 1")
                let faults = try await page.faults()
                #expect(faults.contains { $0.hasPrefix("dialog") })
            }
        }

        // MARK: The list

        @Test func everyCallHasARow() async throws {
            try await withReport(of: InspectedSession.varied()) { page in
                let count = InspectedSession.variedCounts["all"] ?? 0
                #expect(try await page.value("window.inspector.calls()") == count)
                #expect(try await page.value("document.title") == "Every sort of call")
                #expect(try await page.text(of: "#status") == "\(count) calls")
                for (id, texts) in [
                    1: ["/profile", "200"], 3: ["/flaky", "×3"], 9: ["404"], 15: ["shared"], 21: ["cancelled"],
                ] {
                    let row = try await page.text(of: "[data-call='\(id)']")
                    for text in texts { #expect(row.contains(text), "\(id)") }
                }
            }
        }

        @Test func filtersAndTheSearchCombine() async throws {
            try await withReport(of: InspectedSession.varied()) { page in
                for (filter, count) in InspectedSession.variedCounts {
                    try await page.click("[data-filter=\(filter)]")
                    try await page.expectVisible(count, "\(filter)")
                    try await page.click("[data-filter=all]")
                }
                try await page.expectVisible(22, "all")

                // A body, a header field, the reason of an error, a URL.
                for (text, count) in [
                    ("zebra", 1), ("walrus", 1), ("pelican", 1), ("emily fresh", 0), ("FRESH", 2), ("k%c3%b6ln", 1),
                ] {
                    try await page.search(text)
                    try await page.expectVisible(count, "\(text)")
                }
                try await page.search("fresh")
                try await page.click("[data-filter=cached]")
                try await page.expectVisible(1, "search for fresh with the filter cached")
                #expect(try await page.text(of: "#status") == "1 of 22 calls")
                try await page.click("[data-filter=failed]")
                try await page.expectVisible(0, "search for fresh with the filters cached and failed")
                #expect(try await page.text(of: "body").contains("No call matches"))
                try await page.click("#empty button")
                try await page.expectVisible(22, "none")
                #expect(try await page.value("document.querySelector('#search').value") == "")

                try await page.perform(
                    "const method = document.querySelector('#method'); method.value = 'POST'; method.dispatchEvent(new Event('change'));"
                )
                try await page.expectVisible(5, "POST")
            }
        }

        // MARK: Details

        @Test func clickOpensACall() async throws {
            try await withReport(of: InspectedSession.varied()) { page in
                #expect(try await page.holds("document.querySelector('#details').hidden"))
                try await page.click("[data-call='3']")
                #expect(try await page.holds("!document.querySelector('#details').hidden"))
                var details = try await page.details("timing")
                for text in ["/flaky", "200 OK", "retry", "backoff", "attempt", "cached", "deduplicated"] {
                    #expect(details.contains(text), "\(text)")
                }
                details = try await page.details("exchanges")
                for text in [
                    "Exchange 1", "Exchange 2", "Exchange 3", "503", "<redacted>", "up again",
                    "text/plain; charset=utf-8",
                ] {
                    #expect(details.lowercased().contains(text.lowercased()), "\(text)")
                }
                details = try await page.details("curl")
                #expect(details.contains("curl"))
                #expect(details.contains("https://api.example.com/flaky"))
                #expect(try await page.value("location.hash") == "#call-3")

                // A call with a revalidated response: status 304 from the server, 200 for the caller.
                try await page.click("[data-call='8']")
                #expect(try await page.details("timing").contains("200"))
                details = try await page.details("exchanges")
                for text in ["304", "If-None-Match", "the same as before"] {
                    #expect(details.contains(text), "\(text)")
                }
                try await page.click("[data-call='2']")
                details = try await page.details("exchanges")
                #expect(details.contains("user=emily"))
                try await page.perform("location.hash = '#call-11'")
                try await page.wait(for: "document.querySelector('#details').textContent.includes('/image')")
                try await page.click("[data-tab=exchanges]")
                try await page.wait(for: "document.querySelector('#details').textContent.includes('1 × 1')")
            }
        }

        @Test func keyboardReachesEveryDetail() async throws {
            try await withReport(of: InspectedSession.varied()) { page in
                try await page.press("/")
                try await page.type("flaky")
                try await page.expectVisible(1, "flaky")
                try await page.press("Enter")
                try await page.press("ArrowDown")
                try await page.press("Enter")
                try await page.wait(for: "!document.querySelector('#details').hidden")
                #expect(try await page.text(of: "#details").contains("/flaky"))
                // The number of Tab presses from the list to the details.
                var presses = 0
                while try await page.value("document.activeElement.dataset.tab ?? ''") == "", presses < 40 {
                    try await page.press("Tab")
                    presses += 1
                }
                #expect(try await page.value("document.activeElement.dataset.tab") == "timing")
                try await page.press("ArrowRight")
                #expect(try await page.value("document.activeElement.dataset.tab") == "exchanges")
                #expect(try await page.text(of: "#details").contains("Exchange 3"))
                try await page.press("Escape")
                try await page.wait(for: "document.querySelector('#details').hidden")
                try await page.press("/")
                try await page.press("Escape")
                try await page.expectVisible(22, "Escape")
            }
        }

        @Test func fragmentOpensACall() async throws {
            try await withReport(of: InspectedSession.varied(), fragment: "call-9") { page in
                try await page.wait(for: "document.querySelector('#details').textContent.includes('/missing')")
            }
            try await withReport(
                of: InspectedSession.varied(),
                fragment: "call-%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E"
            ) { page in
                try await page.wait(for: "window.inspector.calls() === 22")
            }
        }

        @Test func downloadsTheArchive() async throws {
            let archive = try await InspectedSession.varied()
            try await withReport(of: archive) { page in
                let downloaded = try HTTPArchive(try await page.download(clicking: "#download"))
                #expect(downloaded.entryCount == archive.entryCount)
                #expect(try downloaded.encoded() == archive.encoded())
            }
        }

        // MARK: Hostile input

        @Test(arguments: [true, false])
        func hostileTextsAreShownAsText(hasPolicy: Bool) async throws {
            for archive in [try await HostileSession.sent(), try HostileSession.imported()] {
                let report = try archive.report()
                // The policy would block any script that escapes. Without the policy, no script may run either.
                let shown = hasPolicy ? report : Data(Self.withoutPolicy(String(decoding: report, as: UTF8.self)).utf8)
                try await withReport(shown) { page in
                    let details = try await page.allDetails()
                    let calls = try archive.callCount
                    #expect(details.calls == calls)
                    for text in HostileSession.texts.prefix(3) {
                        #expect(details.text.contains(text), "not shown: \(text)")
                    }
                    #expect(try await page.holds("window.hacked === undefined"))
                    #expect(details.strangers == [])
                    try await page.search("<script>")
                    try await page.wait(
                        for: "window.inspector.visible() > 0 && window.inspector.visible() < window.inspector.calls()"
                    )
                    #expect(try await page.holds("window.hacked === undefined"))
                }
            }
        }

        @Test(arguments: BrowserPage.Scheme.allCases, [390, 1_280])
        func nothingIsWiderThanTheWindow(scheme: BrowserPage.Scheme, width: Int) async throws {
            for archive in [try HostileSession.imported(), try await InspectedSession.varied()] {
                try await withReport(try archive.report(), width: width, height: 844, scheme: scheme) { page in
                    #expect(try await !page.isTooWide(), "the list")
                    let details = try await page.allDetails()
                    #expect(details.tooWide == [])
                    let calls = try archive.callCount
                    #expect(details.calls == calls)
                }
            }
        }

        @Test func reportContainsNoSecrets() async throws {
            for text in ["SECRET", "id:SECRET", "user:SECRET"] {
                #expect(SecretSession.secrets(in: text) != [])
                #expect(SecretSession.secrets(in: Data(text.utf8).base64EncodedString()) != [])
            }
            let inspector = NetworkInspector()
            try await SecretSession.send(to: inspector)
            let (archive, varied) = (inspector.archive, try await InspectedSession.varied())
            for (archive, shown) in [(archive, "name=emily"), (varied, "user=emily")] {
                let files = [try archive.encoded(), try archive.report(), Data(archive.waterfall().utf8)]
                for file in files {
                    #expect(SecretSession.secrets(in: String(decoding: file, as: UTF8.self)) == [])
                }
                try await withReport(of: archive) { page in
                    let details = try await page.allDetails()
                    #expect(details.text.contains(shown))
                    #expect(details.text.contains("<redacted>"))
                    #expect(SecretSession.secrets(in: details.text + details.markup) == [])
                }
            }
        }

        @Test func showsArchivesOfOtherTools() async throws {
            let archive = try HTTPArchive(Data(ForeignArchive.json.utf8))
            #expect(archive.entryCount == ForeignArchive.count)
            #expect(archive.skippedEntryCount == 4)
            try await withReport(of: archive) { page in
                #expect(try await page.value("window.inspector.calls()") == ForeignArchive.count)
                let details = try await page.allDetails()
                #expect(details.calls == ForeignArchive.count)
                for text in [
                    "https://www.example.com/app.js", "let a = 1;", "net::ERR_BLOCKED_BY_CLIENT", "h3", "2001:db8::1",
                ] {
                    #expect(details.text.contains(text), "\(text)")
                }
                #expect(details.tooWide == [])
                let judgement = try await page.judgement()
                #expect(judgement.violations == [])
            }
        }

        @Test(arguments: ["[]", "{\"log\":{\"version\":\"1.2\",\"creator\":{},\"entries\":[]}}"])
        func emptyArchiveShowsAMessage(json: String) async throws {
            guard json != "[]" else {
                #expect(throws: HTTPArchiveError.self) { try HTTPArchive(Data(json.utf8)) }
                return
            }
            try await withReport(of: try HTTPArchive(Data(json.utf8))) { page in
                #expect(try await page.value("window.inspector.calls()") == 0)
                #expect(try await page.text(of: "body").contains("No calls"))
                try await page.expectNoViolations("nothing")
            }
        }

        // MARK: Sizes

        @Test func filtersTenThousandCallsQuickly() async throws {
            try await withReport(of: InspectedSession.long(10_000)) { page in
                #expect(try await page.value("window.inspector.calls()") == 10_000)
                // At once, so that the first key presses reach a page that has not built its index yet.
                try await page.press("/")
                var slowest = 0.0
                for key in "item 99" {
                    try await page.type(String(key))
                    slowest = max(
                        slowest,
                        try await page.value(
                            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(window.inspector.filterMilliseconds()))))"
                        )
                    )
                }
                let visible = try await page.value("window.inspector.visible()") as Int
                print("10,000 calls: the slowest filter took \(slowest) ms and left \(visible)")
                #expect(slowest < 200)
                #expect(visible > 100 && visible < 1_000)
                try await page.press("Escape")
                try await page.expectVisible(10_000, "Escape")

                let first = "document.querySelector('[data-call]').dataset.call"
                let before = try await page.value(first) as String
                try await page.perform("document.querySelector('#grid').scrollTop = 150000")
                try await page.wait(for: "\(first) !== '\(before)'")
                #expect(try await page.value("document.querySelectorAll('*').length") < 3_000)
                try await page.press("Enter")
                try await page.press("End")
                try await page.wait(for: "document.querySelector(\"[data-call='10000']\") !== null")
                #expect(try await page.value("document.querySelectorAll('[data-call]').length") < 200)
                try await page.click("[data-filter=failed]")
                try await page.expectVisible(10_000 / 97, "failed")
            }
        }

        @Test(arguments: ["text/plain", "application/json"])
        func opensABodyOfTenMegabytes(type: String) async throws {
            let inspector = NetworkInspector(bodyLimit: 16 << 20)
            let item = type == "text/plain" ? "0123456789abcdef" : "[\"0123456789abcdef\",1,{\"a\":null}],"
            let list = String(repeating: item, count: 10_000_000 / item.utf8.count)
            let body = type == "text/plain" ? list : "[\(list)0]"
            let network = MockTransport { _ in .ok(Data(body.utf8), headerFields: [.contentType: type]) }
                .inspected(by: inspector)
            _ = try await network.data(HTTPRequestData(scheme: "https", authority: "big.example", path: "/body"))
            try await withReport(of: inspector.archive) { page in
                try await page.click("[data-call='1']")
                let slowest =
                    try await page.value(
                        """
                        (async () => {
                            let slowest = 0;
                            const settled = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
                            const find = (text) => [...document.querySelectorAll("#details button")].find(each => each.textContent.startsWith(text));
                            for (const next of [() => document.querySelector("[data-tab=exchanges]"), () => find("Show all")]) {
                                const start = performance.now();
                                next().click();
                                await settled();
                                slowest = Math.max(slowest, performance.now() - start);
                            }
                            return slowest;
                        })()
                        """
                    ) as Double
                print("A body of 10 MB as \(type): the slowest step took \(slowest) ms")
                // The limit allows for a busy machine.
                #expect(slowest < 5_000)
                #expect(
                    try await page.value("document.querySelector('#details').textContent.length") >= body.utf8.count
                )
                #expect(try await !page.isTooWide())
                try await page.click("[data-tab=timing]")
                try await page.press("Escape")
                try await page.wait(for: "document.querySelector('#details').hidden")
                try await page.search("big.example")
                try await page.expectVisible(1, "big.example")
            }
        }

        // MARK: Accessibility

        @Test(arguments: BrowserPage.Scheme.allCases, [390, 1_280])
        func axeFindsNoViolations(scheme: BrowserPage.Scheme, width: Int) async throws {
            let archive = try await InspectedSession.varied()
            try await withReport(try archive.report(), width: width, height: 844, scheme: scheme) { page in
                try await page.expectNoViolations("the list")
                // A retried call, a failed one, one from the cache, and one in progress.
                for (index, id) in [3, 16, 6, 22].enumerated() {
                    try await page.perform("location.hash = '#call-\(id)'")
                    try await page.wait(for: "!document.querySelector('#details').hidden")
                    for tab in index == 0 ? ["timing", "exchanges", "curl"] : ["exchanges"] {
                        try await page.click("[data-tab=\(tab)]")
                        try await page.expectNoViolations("call \(id), \(tab)")
                    }
                }
            }
        }

        @Test func darkModeLooksDifferent() async throws {
            let report = try await InspectedSession.varied().report()
            try await withTemporaryDirectory { directory in
                var pictures: [Data] = []
                for scheme in BrowserPage.Scheme.allCases {
                    let file = directory.appending(path: "\(scheme).png")
                    try await withReport(report, scheme: scheme) { page in try await page.screenshot(to: file) }
                    pictures.append(try Data(contentsOf: file))
                }
                #expect(pictures[0] != pictures[1])
            }
        }

        // MARK: Helpers

        /// The report without the content security policy.
        private static func withoutPolicy(_ report: String) -> String {
            report.replacing("http-equiv=\"Content-Security-Policy\"", with: "name=\"nothing\"", maxReplacements: 1)
        }

        private func withReport(
            of archive: HTTPArchive,
            fragment: String? = nil,
            sourceLocation: SourceLocation = #_sourceLocation,
            _ body: nonisolated(nonsending) (BrowserPage) async throws -> Void
        ) async throws {
            try await withReport(try archive.report(), fragment: fragment, sourceLocation: sourceLocation, body)
        }

        private func withReport(
            _ report: Data,
            width: Int = 1_280,
            height: Int = 800,
            scheme: BrowserPage.Scheme = .light,
            fragment: String? = nil,
            sourceLocation: SourceLocation = #_sourceLocation,
            _ body: nonisolated(nonsending) (BrowserPage) async throws -> Void
        ) async throws {
            try await withTemporaryDirectory { directory in
                let file = directory.appending(path: "report.html")
                try report.write(to: file)
                let url = try #require(URL(string: file.absoluteString + (fragment.map { "#\($0)" } ?? "")))
                try await withBrowser(width: width, height: height, scheme: scheme, sourceLocation: sourceLocation) {
                    page in
                    try await page.open(url)
                    try await body(page)
                }
            }
        }
    }
}

extension HTTPArchive {
    /// The number of calls in the archive.
    ///
    /// The entries of one call count once.
    fileprivate var callCount: Int {
        get throws {
            let object = try JSONSerialization.jsonObject(with: try encoded()) as? [String: [String: Any]]
            let entries = object?["log"]?["entries"] as? [[String: Any]] ?? []
            let ids = entries.compactMap { ($0["_call"] as? [String: Any])?["id"] as? Int }
            return Set(ids).count + entries.count - ids.count
        }
    }
}

extension BrowserPage {
    /// The details of all calls, with every section open.
    struct AllDetails: Decodable {
        let calls: Int
        let text: String
        let markup: String
        /// The calls with details wider than the window.
        let tooWide: [String]
        /// Elements that can only come from injected markup.
        let strangers: [String]
    }

    /// Opens all calls, their tabs and their sections.
    fileprivate func allDetails() async throws -> AllDetails {
        try await perform(
            """
            const frame = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
            const pane = document.getElementById("details"), grid = document.getElementById("grid");
            const findings = window.findings = { calls: 0, text: document.body.innerText, markup: document.body.outerHTML, tooWide: [], strangers: [] };
            const seen = new Set();
            for (;;) {
                const row = [...document.querySelectorAll("[data-call]")].find(each => !seen.has(each.dataset.call));
                if (!row) {
                    const top = grid.scrollTop;
                    grid.scrollTop = top + grid.clientHeight / 2;
                    await frame();
                    await frame();
                    if (grid.scrollTop === top) break;
                    continue;
                }
                const id = row.dataset.call;
                seen.add(id);
                findings.calls++;
                row.click();
                for (const tab of ["timing", "exchanges", "curl"]) {
                    pane.querySelector(`[data-tab=${tab}]`).click();
                    for (const each of pane.querySelectorAll("details")) each.open = true;
                    for (const each of pane.querySelectorAll("button")) if (each.textContent.startsWith("Show all")) each.click();
                    await frame();
                    findings.text += "\\n" + pane.textContent;
                    findings.markup += "\\n" + pane.outerHTML;
                    if (document.documentElement.scrollWidth > window.innerWidth) findings.tooWide.push(`${id}, ${tab}: ${document.documentElement.scrollWidth}`);
                    for (const each of document.querySelectorAll("iframe, object, embed, base, form, link[rel=stylesheet], a[href], area, [onclick], [onload], [onerror], svg svg, img:not([src^='data:image/'])"))
                        findings.strangers.push(`${id}, ${tab}: ${each.outerHTML.slice(0, 200)}`);
                    for (const each of [...document.scripts].slice(2)) findings.strangers.push(`${id}, ${tab}: ${each.outerHTML.slice(0, 200)}`);
                }
            }
            """
        )
        return try await value("window.findings")
    }

    fileprivate func isTooWide() async throws -> Bool {
        try await value("document.documentElement.scrollWidth > window.innerWidth")
    }

    /// Checks that the list shows `count` calls.
    fileprivate func expectVisible(
        _ count: Int,
        _ what: Comment,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        // The list is updated in the next frame. Waiting for the count would not report a wrong count.
        let visible =
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(window.inspector.visible()))))"
        #expect(try await value(visible) == count, what, sourceLocation: sourceLocation)
    }

    /// Returns the visible text of an element.
    fileprivate func text(of selector: String) async throws -> String {
        try await value("document.querySelector(\"\(selector)\").innerText")
    }

    /// Replaces the search text.
    fileprivate func search(_ text: String) async throws {
        try await perform("document.querySelector('#search').focus(); document.querySelector('#search').select();")
        try await type(text)
    }

    /// Returns the visible text of a tab of the details.
    fileprivate func details(_ tab: String) async throws -> String {
        try await click("[data-tab=\(tab)]")
        try await perform("for (const each of document.querySelectorAll('#details details')) each.open = true;")
        // The whole text content, because elements outside of the window have no innerText.
        return try await value("document.querySelector('#details').textContent")
    }

    fileprivate func expectNoViolations(_ what: Comment, sourceLocation: SourceLocation = #_sourceLocation) async throws
    {
        let judgement = try await judgement()
        #expect(judgement.violations == [], what, sourceLocation: sourceLocation)
        #expect(judgement.passed.contains("color-contrast"), what, sourceLocation: sourceLocation)
    }
}
#endif
