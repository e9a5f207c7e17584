public import FoundationForNetworking
import HTTPTypes
import NetworkingCore

extension MockTransport {
    /// Creates a transport that responds with the files of a directory, as a backend for previews and offline work.
    ///
    /// - Parameter directory: The directory; see ``serve(_:at:)``.
    /// - Precondition: `directory` is a file URL.
    public convenience init(serving directory: URL) {
        self.init()
        serve(directory)
    }

    /// Responds with the files of a directory to requests that no stub, script or expectation handles.
    ///
    /// ```swift
    /// let backend = MockTransport(serving: URL(filePath: "Fixtures"))
    /// backend.delay(by: .milliseconds(200), jitter: .milliseconds(300))
    /// backend.on(.post, "/basket", uses: .any) { request in
    ///     .json(basket.withLock { $0.add(request) })   // a closure handles data that changes
    /// }
    /// ```
    ///
    /// | Request | Files, of which the first existing one is returned |
    /// |---|---|
    /// | `GET /users/42` | `users/42`, `users/42.json`, `users/42/index.json` |
    /// | `GET /` | `index.json` |
    /// | `POST /users` | `users.post.json`, `users/index.post.json` |
    ///
    /// `HEAD` is handled like `GET`. The query is ignored. Files are read for each request, so that they can be edited
    /// while a preview runs, and their content type follows from their extension. If the file is missing, the next
    /// directory is searched, then the fallback closure responds, and without a closure the response is a 404. A path
    /// with an empty segment, a backslash, or a name that begins with a dot is treated as a missing file.
    ///
    /// - Parameters:
    ///   - directory: The directory.
    ///   - path: The path under which the files are served, such as `/v1`.
    /// - Precondition: `directory` is a file URL.
    public func serve(_ directory: URL, at path: String = "/") {
        precondition(
            directory.isFileURL,
            "directory must be a file URL (has the scheme \(directory.scheme ?? "none"))"
        )
        let prefix = PathPattern.segments(of: path).filter { !$0.isEmpty }
        board.update { $0.directories.append(MockDirectory(path: directory.path, prefix: prefix)) }
    }
}

/// A directory with response files, and the path that it is served at.
struct MockDirectory: Sendable {
    let path: String
    let prefix: [String]

    /// The file for a request; nil if there is none.
    @concurrent
    func response(to request: HTTPRequestData) async throws -> MockResponse? {
        for name in names(for: request) {
            let path = "\(path)/\(name)"
            guard (try? FileSnapshot(of: path)) != nil else { continue }
            return .file(URL(filePath: path))
        }
        return nil
    }

    /// The paths within the directory at which the file may be, in the order in which they are tried.
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

    /// Whether a path segment is a valid name within the directory and cannot lead out of it.
    private static func isName(_ segment: String) -> Bool {
        !segment.isEmpty && !segment.hasPrefix(".")
            && !segment.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
    }
}

extension MockResponse {
    /// The response to a request for which no directory has a file.
    static func notServed(_ request: HTTPRequestData, from directories: [MockDirectory]) -> MockResponse {
        let missing = directories.filter { !PrivateFile.isDirectory($0.path) }
            .map { " There is no directory \($0.path)." }
            .joined()
        return MockResponse(
            status: .notFound,
            data: Data("There is no file for \(request).\(missing)\n".utf8),
            headerFields: [.contentType: "text/plain; charset=utf-8"]
        )
    }
}
