#if os(Linux) || os(macOS)
import Foundation
import Synchronization
import Testing

/// Chromium without a window, driven by Playwright for Python in a process of its own: other people's judgement of the
/// pages.
enum Browser {
    /// Whether there is one; found out once, though each test of a suite asks.
    static var isAvailable: Bool {
        get async { await availability.value }
    }

    private static let availability = Task {
        guard executable != nil else { return false }
        return await Python.has("playwright.sync_api, axe_playwright_python")
    }

    fileprivate static let executable = ["chromium-headless-shell", "chromium"].lazy.compactMap(path(of:)).first

    private static func path(of program: String) -> String? {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").lazy.map { "\($0)/\(program)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}

/// Talks to a page in a browser of its own.
///
/// What the page should not have done by the end, and nobody has asked for, is an issue: dialogs, errors, requests to
/// anywhere but the page's own address, windows.
func withBrowser<Value>(
    width: Int = 1280,
    height: Int = 800,
    scheme: BrowserPage.Scheme = .light,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: nonisolated(nonsending) (BrowserPage) async throws -> Value
) async throws -> Value {
    let page = try BrowserPage()
    let result: Result<Value, any Error>
    do {
        try await page.begin()
        try await page.resize(width: width, height: height)
        try await page.use(scheme)
        let value = try await body(page)
        let faults = try await page.faults()
        #expect(faults == [], sourceLocation: sourceLocation)
        result = .success(value)
    } catch {
        result = .failure(error)
    }
    await page.end()
    return try result.get()
}

/// A page in a browser: a conversation, one command at a time, each with a limit of time.
final class BrowserPage: Sendable {
    enum Scheme: String, CaseIterable {
        case light, dark
    }

    /// What axe says of a page.
    struct Judgement: Decodable {
        /// Each with the element that it is about.
        let violations: [String]
        /// The rules that were applied and kept.
        let passed: [String]
    }

    /// What the browser says about a command.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private struct Command: Encodable {
        var what: String
        var text: String?
        var width: Int?
        var height: Int?
    }

    private struct Answer<Value: Decodable>: Decodable {
        var value: Value?
        var error: String?
    }

    private struct Nothing: Decodable {}

    private let input = Pipe()
    private let output = Pipe()
    private let answers = AsyncStream.makeStream(of: Data.self)
    private let ending = AsyncStream.makeStream(of: Never.self)
    private let process: Process

    fileprivate init() throws {
        // Writing to a browser that has crashed is an error like others.
        signal(SIGPIPE, SIG_IGN)
        process = Python.process(Self.program)
        process.arguments? += [Browser.executable ?? "chromium"]
        process.standardInput = input
        process.standardOutput = output
        // Not when the output ends: processes that others start meanwhile inherit it, and keep it open.
        process.terminationHandler = { [answers = answers.continuation, ending = ending.continuation] _ in
            answers.finish()
            ending.finish()
        }
        let lines = Mutex(Data())
        output.fileHandleForReading.readabilityHandler = { [answers = answers.continuation] handle in
            let bytes = handle.availableData
            if bytes.isEmpty { handle.readabilityHandler = nil }
            lines.withLock { lines in
                var start = lines.endIndex
                lines.append(bytes)
                while let end = lines[start...].firstIndex(of: UInt8(ascii: "\n")) {
                    answers.yield(Data(lines[..<end]))
                    lines = Data(lines[end...].dropFirst())
                    start = lines.startIndex
                }
            }
        }
        try process.run()
    }

    /// Waits until the browser runs.
    fileprivate func begin() async throws {
        let _: Nothing? = try await answer(to: "start")
    }

    /// Ends the browser, or what is left of it.
    fileprivate func end() async {
        try? write(Command(what: "end"))
        for await _ in ending.stream {}
        if process.isRunning { process.terminate() }
        output.fileHandleForReading.readabilityHandler = nil
        try? input.fileHandleForWriting.close()
    }

    private func write(_ command: Command) throws {
        try input.fileHandleForWriting.write(contentsOf: try JSONEncoder().encode(command) + Data("\n".utf8))
    }

    private func send<Value: Decodable>(
        _ what: String,
        _ text: String? = nil,
        width: Int? = nil,
        height: Int? = nil
    ) async throws -> Value? {
        try write(Command(what: what, text: text, width: width, height: height))
        return try await answer(to: [what, text].compactMap(\.self).joined(separator: " "))
    }

    private func answer<Value: Decodable>(to command: String) async throws -> Value? {
        var iterator = answers.stream.makeAsyncIterator()
        guard let line = await iterator.next() else {
            try Task.checkCancellation()
            throw Failure(description: "the browser ended, or took too long: \(command)")
        }
        let answer = try JSONDecoder().decode(Answer<Value>.self, from: line)
        if let error = answer.error { throw Failure(description: "\(command): \(error)") }
        return answer.value
    }

    private func run(_ what: String, _ text: String? = nil, width: Int? = nil, height: Int? = nil) async throws {
        let _: Nothing? = try await send(what, text, width: width, height: height)
    }
}

// MARK: - What a test says

extension BrowserPage {
    /// Goes to an address, and waits until what is there has come to rest.
    func open(_ url: URL) async throws {
        try await run("open", url.absoluteString)
    }

    /// The value of an expression in the page; of its promise, if it is one.
    func value<Value: Decodable>(_ expression: String, as type: Value.Type = Value.self) async throws -> Value {
        guard let value: Value = try await send("value", expression) else {
            throw Failure(description: "\(expression): has no value")
        }
        return value
    }

    /// Whether an expression is true.
    func holds(_ expression: String) async throws -> Bool {
        try await value(expression)
    }

    /// Runs a statement in the page, and waits for what comes of it.
    func perform(_ statement: String) async throws {
        try await run("perform", statement)
    }

    /// Waits until an expression is true; fails when that takes longer than 20 seconds.
    func wait(for expression: String) async throws {
        try await run("wait", expression)
    }

    /// Presses a key, such as `Enter` or `Shift+Tab`.
    func press(_ key: String) async throws {
        try await run("press", key)
    }

    /// Types text, key by key.
    func type(_ text: String) async throws {
        try await run("type", text)
    }

    /// Clicks on the first element that a selector finds.
    func click(_ selector: String) async throws {
        try await run("click", selector)
    }

    /// Clicks on what begins a download, and returns what is downloaded.
    func download(clicking selector: String) async throws -> Data {
        guard let text: String = try await send("download", selector) else {
            throw Failure(description: "\(selector): downloads nothing")
        }
        return Data(text.utf8)
    }

    func resize(width: Int, height: Int) async throws {
        try await run("resize", width: width, height: height)
    }

    /// Has the page think that its reader prefers this.
    func use(_ scheme: Scheme) async throws {
        try await run("scheme", scheme.rawValue)
    }

    /// Writes a picture of what is in sight, as PNG.
    func screenshot(to file: URL) async throws {
        try await run("screenshot", file.path)
    }

    /// What axe says of all that is in the page.
    func judgement() async throws -> Judgement {
        guard let judgement: Judgement = try await send("judge") else { throw Failure(description: "axe says nothing") }
        return judgement
    }

    /// What the page has done since this was asked that it should not have.
    func faults() async throws -> [String] {
        try await send("faults") ?? []
    }
}
#endif
