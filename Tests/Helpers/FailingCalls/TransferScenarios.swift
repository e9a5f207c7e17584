#if os(Linux) && SQLite
import Foundation
import HTTPTypes
import Networking
import Synchronization

/// The bytes of each transfer.
private let film = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })

/// Downloads a file, at first or after a part.
struct DownloadScenario: Scenario {
    let isResumed: Bool
    let durability = Durability.bytes

    private let request = HTTPRequestData(url: URL(string: "https://files.example/film.bin")!)

    /// A server that can send the rest of a file, and whose connection may break.
    private func origin(breaksAfter count: Int? = nil) -> MockTransport {
        MockTransport { request in
            var fields: HTTPFields = [.eTag: "\"1\""]
            let first = request.headerFields[.range].flatMap { Int($0.dropFirst("bytes=".count).dropLast()) }
            let body = film.dropFirst(first ?? 0)
            fields[.contentLength] = "\(body.count)"
            if let first { fields[.contentRange] = "bytes \(first)-\(film.count - 1)/\(film.count)" }
            let status = first == nil ? HTTPResponse.Status.ok : .partialContent
            let response = MockResponse(status: status, data: Data(body), headerFields: fields).inSteps(5)
            guard let count else { return response }
            return response.failing(with: NetworkingError(.connectionLost, request: request), afterBytes: count)
        }
    }

    func prepare(in directory: URL) async throws {
        guard isResumed else { return }
        let place = directory.appending(path: "film.bin")
        _ = try? await origin(breaksAfter: 130_000).download(request, to: place)
        guard try DownloadState(at: place)?.byteCount ?? 0 > 0 else { throw Unexpected(description: "no partial file") }
    }

    func run(in directory: URL, _ journal: Journal) async {
        for number in 1...3 {
            let isDone = await journal.attempt("download \(number)") {
                try await origin().download(request, to: directory.appending(path: "film.bin"))
            }
            if isDone { return }
        }
    }

    func verify(in directory: URL, _ journal: Journal) async throws -> (problems: [String], files: Set<String>) {
        let place = directory.appending(path: "film.bin")
        var problems: [String] = []
        if let bytes = try? Data(contentsOf: place) {
            if bytes != film { problems.append("the file has \(bytes.count) bytes that the server did not send") }
        } else if journal.lines.contains(where: { $0.hasPrefix("ok ") }) {
            problems.append("the file is lost")
        }
        try await origin().download(request, to: .file(place, ifExists: .replace))
        if try Data(contentsOf: place) != film { problems.append("the file of the next run is not that of the server") }
        return (problems, ["film.bin"])
    }
}

/// Uploads a file with a state file, to a server that keeps its bytes in a file beside those of the run.
struct UploadScenario: Scenario {
    let durability = Durability.none

    private func server(_ directory: URL, breaks: Bool = false) -> MockTransport {
        let store = directory.deletingLastPathComponent().appending(path: "received")
        let broken = Mutex(!breaks)
        return MockTransport { request in
            var fields: HTTPFields = [HTTPField.Name("Tus-Resumable")!: "1.0.0"]
            let offsetName = HTTPField.Name("Upload-Offset")!
            let received = try? Data(contentsOf: store)
            switch request.method {
            case .head:
                guard let received else { return .status(.notFound) }
                fields[offsetName] = "\(received.count)"
                fields[HTTPField.Name("Upload-Length")!] = "\(film.count)"
                return .status(.ok, headerFields: fields)
            case .patch:
                guard let received else { return .status(.notFound) }
                guard request.headerFields[offsetName] == "\(received.count)" else { return .status(.conflict) }
                let body = request.body?.data ?? Data()
                let isWhole = broken.withLock { broken in
                    defer { broken = true }
                    return broken
                }
                try (received + body.prefix(isWhole ? .max : 20_000)).write(to: store)
                guard isWhole else { return .failure(.connectionLost) }
                fields[offsetName] = "\(received.count + body.count)"
                return .status(.noContent, headerFields: fields)
            default:
                try Data().write(to: store)
                fields[.location] = "https://files.example/uploads/1"
                return .status(.created, headerFields: fields)
            }
        }
    }

    private func upload(in directory: URL, breaks: Bool = false) async throws {
        let options = UploadOptions(maximumAppendSize: 100_000, maximumRetries: 0)
        let request = HTTPRequestData(method: .post, url: URL(string: "https://files.example/uploads")!)
        try await server(directory, breaks: breaks)
            .upload(.file(directory.appending(path: "film.bin")), to: request, resumable: .tus, options: options)
    }

    func prepare(in directory: URL) async throws {
        let file = directory.appending(path: "film.bin")
        try film.write(to: file)
        // A file that has just been changed has no identity yet.
        let date = Date(timeIntervalSinceNow: -100)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file.path)
        try? FileManager.default.removeItem(at: directory.deletingLastPathComponent().appending(path: "received"))
        // The upload is interrupted after its first bytes.
        try? await upload(in: directory, breaks: true)
    }

    func run(in directory: URL, _ journal: Journal) async {
        for number in 1...3 {
            let isDone = await journal.attempt("upload \(number)") { try await upload(in: directory) }
            if isDone { return }
        }
    }

    func verify(in directory: URL, _ journal: Journal) async throws -> (problems: [String], files: Set<String>) {
        let store = directory.deletingLastPathComponent().appending(path: "received")
        var problems: [String] = []
        if journal.lines.contains(where: { $0.hasPrefix("ok ") }), try Data(contentsOf: store) != film {
            problems.append("the server has other bytes than the file")
        }
        try await upload(in: directory)
        if try Data(contentsOf: store) != film { problems.append("the next upload sends other bytes") }
        return (problems, ["film.bin"])
    }
}
#endif
