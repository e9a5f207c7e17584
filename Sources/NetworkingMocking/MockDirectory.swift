import HTTPTypes
import NetworkingCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension MockTransport {
    /// Creates a transport that answers with the files of a directory: a backend for previews and offline work.
    ///
    /// - Parameter directory: The directory; see ``serve(_:at:)``.
    /// - Precondition: The URL is one of a file.
    public convenience init(serving directory: URL) {
        self.init()
        serve(directory)
    }

    /// Answers with the files of a directory what nothing else answers but the closure.
    ///
    /// ```swift
    /// let backend = MockTransport(serving: URL(filePath: "Fixtures"))
    /// backend.delay(by: .milliseconds(200), jitter: .milliseconds(300))
    /// backend.on(.post, "/basket", uses: .any) { request in
    ///     .json(basket.withLock { $0.add(request) })   // what has to change is a closure's business
    /// }
    /// ```
    ///
    /// | Request | Files, of which the first that is there answers |
    /// |---|---|
    /// | `GET /users/42` | `users/42`, `users/42.json`, `users/42/index.json` |
    /// | `GET /` | `index.json` |
    /// | `POST /users` | `users.post.json`, `users/index.post.json` |
    ///
    /// `HEAD` is answered as `GET` is. The query does not matter. Files are read anew for each request, so that they
    /// can be edited while a preview runs, and have the content type of their extension. What is not there is answered
    /// with 404, or by the next directory or the closure; so are paths with `.`, `..`, and names that begin with a dot.
    ///
    /// - Parameters:
    ///   - directory: The directory.
    ///   - path: The path that the files stand under: `/v1`.
    /// - Precondition: The URL is one of a file.
    public func serve(_ directory: URL, at path: String = "/") {
        precondition(
            directory.isFileURL,
            "directory must be a file's URL (has the scheme \(directory.scheme ?? "none"))"
        )
        let prefix = PathPattern.segments(of: path).filter { !$0.isEmpty }
        board.update { $0.directories.append(MockDirectory(path: directory.path, prefix: prefix)) }
    }
}

/// A directory whose files are answers.
struct MockDirectory: Sendable {
    let path: String
    let prefix: [String]

    /// The file that answers a request; nil when there is none.
    @concurrent
    func response(to request: HTTPRequestData) async throws -> MockResponse? {
        for name in names(for: request) {
            let path = "\(path)/\(name)"
            guard (try? FileSnapshot(of: path)) != nil else { continue }
            return .file(URL(filePath: path))
        }
        return nil
    }

    /// The names that the file may have, with the directories that it is in.
    private func names(for request: HTTPRequestData) -> [String] {
        var segments = PathPattern.segments(of: request.path ?? "/")
        if segments.last == "" { segments.removeLast() }
        guard segments.starts(with: prefix), segments.allSatisfy(Self.isName) else { return [] }
        let name = segments.dropFirst(prefix.count).joined(separator: "/")
        let inside = name.isEmpty ? "" : "\(name)/"
        let method = request.method.rawValue.lowercased()
        guard method == "get" || method == "head" else {
            return name.isEmpty
                ? ["index.\(method).json"] : ["\(name).\(method).json", "\(inside)index.\(method).json"]
        }
        return name.isEmpty ? ["index.json"] : [name, "\(name).json", "\(inside)index.json"]
    }

    /// Whether a part of a path names a file of the directory and leads nowhere else.
    private static func isName(_ segment: String) -> Bool {
        !segment.isEmpty && !segment.hasPrefix(".")
            && !segment.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
    }
}

extension MockResponse {
    /// The answer to a request for which no directory has a file.
    static func notServed(_ request: HTTPRequestData, from directories: [MockDirectory]) -> MockResponse {
        let missing = directories.filter { !PrivateFile.isDirectory($0.path) }
            .map { " There is no directory \($0.path)." }
            .joined()
        return MockResponse(
            status: .notFound,
            data: Data("No file answers \(request).\(missing)\n".utf8),
            headerFields: [.contentType: "text/plain; charset=utf-8"]
        )
    }
}
