#if os(Linux) || os(macOS)
import Foundation
import Synchronization
import Testing

/// Headless Chromium, driven by Playwright for Python in a separate process.
enum Browser {
    /// Whether a browser is available.
    ///
    /// Determined once for all tests.
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

/// Runs an operation with a page in a new browser.
///
/// Records an issue for every fault that the test did not expect: dialogs, errors, windows, and requests to other
/// addresses than the page's own.
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

/// A page in a browser, controlled by one command at a time, each with a time limit.
final class BrowserPage: Sendable {
    enum Scheme: String, CaseIterable {
        case light, dark
    }

    /// The result of checking a page with axe.
    struct Judgement: Decodable {
        /// The violations, each with the element that it is about.
        let violations: [String]
        /// The rules that were applied and passed.
        let passed: [String]
    }

    /// The browser's error for a command.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private struct Command: Encodable {
        var what: String
        var text: String?
        var width: Int?
        var height: Int?
    }

    private struct Reply<Value: Decodable>: Decodable {
        var value: Value?
        var error: String?
    }

    private struct Nothing: Decodable {}

    private let input = Pipe()
    private let output = Pipe()
    private let replies = AsyncStream.makeStream(of: Data.self)
    private let ending = AsyncStream.makeStream(of: Never.self)
    private let process: Process

    fileprivate init() throws {
        // Writing to a crashed browser is an error instead of a signal.
        signal(SIGPIPE, SIG_IGN)
        process = Python.process(Self.program)
        process.arguments? += [Browser.executable ?? "chromium"]
        process.standardInput = input
        process.standardOutput = output
        // Not at the end of the output: processes that start in the meantime inherit it and keep it open.
        process.terminationHandler = { [replies = replies.continuation, ending = ending.continuation] _ in
            replies.finish()
            ending.finish()
        }
        let lines = Mutex(Data())
        output.fileHandleForReading.readabilityHandler = { [replies = replies.continuation] handle in
            let bytes = handle.availableData
            if bytes.isEmpty { handle.readabilityHandler = nil }
            lines.withLock { lines in
                var start = lines.endIndex
                lines.append(bytes)
                while let end = lines[start...].firstIndex(of: UInt8(ascii: "\n")) {
                    replies.yield(Data(lines[..<end]))
                    lines = Data(lines[end...].dropFirst())
                    start = lines.startIndex
                }
            }
        }
        try process.run()
    }

    /// Waits until the browser runs.
    fileprivate func begin() async throws {
        let _: Nothing? = try await reply(to: "start")
    }

    /// Ends the browser, or the remains of a crashed one.
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
        return try await reply(to: [what, text].compactMap(\.self).joined(separator: " "))
    }

    private func reply<Value: Decodable>(to command: String) async throws -> Value? {
        var iterator = replies.stream.makeAsyncIterator()
        guard let line = await iterator.next() else {
            try Task.checkCancellation()
            throw Failure(description: "the browser ended, or took too long: \(command)")
        }
        let reply = try JSONDecoder().decode(Reply<Value>.self, from: line)
        if let error = reply.error { throw Failure(description: "\(command): \(error)") }
        return reply.value
    }

    private func run(_ what: String, _ text: String? = nil, width: Int? = nil, height: Int? = nil) async throws {
        let _: Nothing? = try await send(what, text, width: width, height: height)
    }
}

// MARK: - Commands

extension BrowserPage {
    /// Opens an address and waits until the page is idle.
    func open(_ url: URL) async throws {
        try await run("open", url.absoluteString)
    }

    /// Returns the value of an expression in the page, or the value of its promise.
    func value<Value: Decodable>(_ expression: String, as type: Value.Type = Value.self) async throws -> Value {
        guard let value: Value = try await send("value", expression) else {
            throw Failure(description: "\(expression): has no value")
        }
        return value
    }

    /// Returns whether an expression is true.
    func holds(_ expression: String) async throws -> Bool {
        try await value(expression)
    }

    /// Runs a statement in the page and waits for its effects.
    func perform(_ statement: String) async throws {
        try await run("perform", statement)
    }

    /// Waits until an expression is true.
    ///
    /// Fails after 20 seconds.
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

    /// Clicks the first element that matches a selector.
    func click(_ selector: String) async throws {
        try await run("click", selector)
    }

    /// Clicks an element that starts a download and returns the downloaded bytes.
    func download(clicking selector: String) async throws -> Data {
        guard let text: String = try await send("download", selector) else {
            throw Failure(description: "\(selector): downloads nothing")
        }
        return Data(text.utf8)
    }

    func resize(width: Int, height: Int) async throws {
        try await run("resize", width: width, height: height)
    }

    /// Sets the colour scheme that the user prefers.
    func use(_ scheme: Scheme) async throws {
        try await run("scheme", scheme.rawValue)
    }

    /// Writes a screenshot of the visible area, as PNG.
    func screenshot(to file: URL) async throws {
        try await run("screenshot", file.path)
    }

    /// Checks the whole page with axe.
    func judgement() async throws -> Judgement {
        guard let judgement: Judgement = try await send("judge") else { throw Failure(description: "axe says nothing") }
        return judgement
    }

    /// Returns the faults of the page since the last call of this method.
    func faults() async throws -> [String] {
        try await send("faults") ?? []
    }
}
#endif
