import Foundation
import HTTPTypes
import Networking

/// Reads a response in HTTP/1.1 from a connection.
struct ResponseReader {
    /// How a body ends.
    enum Framing {
        case length(Int64)
        case chunks
        case endOfConnection

        var length: Int64? {
            if case .length(let length) = self { length } else { nil }
        }
    }

    private static let maximumHeadLength = 256 << 10

    private let connection: SocketConnection
    private let request: HTTPRequestData
    private var head: HTTPResponse?
    private var buffer = Data()
    private var received: Int64 = 0
    /// The number of bytes that are left of a chunk; `nil` before the first chunk and after the last one.
    private var restOfChunk: Int?
    private var hasEnded = false

    init(connection: SocketConnection, request: HTTPRequestData) {
        (self.connection, self.request) = (connection, request)
    }

    /// Reads the final head, and ignores those of interim responses.
    mutating func readHead() async throws -> HTTPResponse {
        while true {
            let head = try await readNextHead()
            if head.status.code >= 200 {
                self.head = head
                return head
            }
        }
    }

    private mutating func readNextHead() async throws -> HTTPResponse {
        let parts = try await readLine().split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[0].hasPrefix("HTTP/1."), parts[1].count == 3, let code = Int(parts[1]),
            code >= 100
        else {
            throw invalid("The status line is not one of HTTP/1.1.")
        }
        var fields = HTTPFields()
        var length = 0
        while case let line = try await readLine(), !line.isEmpty {
            length += line.utf8.count
            guard length <= Self.maximumHeadLength else { throw invalid("The head is too long.") }
            guard let colon = line.firstIndex(of: ":"), let name = HTTPField.Name(String(line[..<colon])) else {
                throw invalid("A header field has no valid name.")
            }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
            guard HTTPField.isValidValue(value) else { throw invalid("A header field has no valid value.") }
            fields.append(HTTPField(name: name, value: value))
        }
        return HTTPResponse(status: HTTPResponse.Status(code: code), headerFields: fields)
    }

    /// Returns how the body of a response ends.
    func framing(of head: HTTPResponse) throws -> Framing {
        if request.method == .head || head.status.code == 204 || head.status.code == 304 { return .length(0) }
        let coding = head.headerFields[.transferEncoding]
        if let coding {
            guard coding.lowercased() == "chunked" else { throw invalid("The transfer coding is unknown.") }
            return .chunks
        }
        guard let text = head.headerFields[.contentLength] else { return .endOfConnection }
        let values = Set(text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })
        guard values.count == 1, let value = values.first, value.allSatisfy({ $0.isASCII && $0.isNumber }),
            let length = Int64(value)
        else { throw invalid("The length of the body is not a number.") }
        return .length(length)
    }

    /// Reads the next bytes of the body.
    ///
    /// - Returns: The bytes; `nil` at the end.
    mutating func readChunk(_ framing: Framing) async throws -> Data? {
        guard !hasEnded else { return nil }
        let data: Data?
        switch framing {
        case .length(let length): data = try await read(atMost: Int(clamping: length - received))
        case .endOfConnection: data = try await readFromConnection()
        case .chunks: data = try await readOfChunk()
        }
        received += Int64(data?.count ?? 0)
        hasEnded = data == nil
        return data
    }

    private mutating func readOfChunk() async throws -> Data? {
        if restOfChunk == nil {
            let size = try await readLineOfBody().prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
            guard size.allSatisfy(\.isHexDigit), let count = Int(size, radix: 16) else {
                throw invalid("The size of a chunk is not a number.")
            }
            guard count > 0 else {
                while try await !readLineOfBody().isEmpty {}
                return nil
            }
            restOfChunk = count
        }
        guard let data = try await read(atMost: restOfChunk ?? 0) else { throw truncated }
        restOfChunk = (restOfChunk ?? 0) - data.count
        if restOfChunk == 0 {
            restOfChunk = nil
            guard try await readLineOfBody().isEmpty else { throw invalid("A chunk is longer than its size.") }
        }
        return data
    }

    private mutating func read(atMost count: Int) async throws -> Data? {
        guard count > 0 else { return nil }
        guard let data = try await readFromConnection() else { throw truncated }
        guard data.count > count else { return data }
        buffer = Data(data.dropFirst(count))
        return Data(data.prefix(count))
    }

    /// Returns the buffered bytes, or the next bytes of the connection; `nil` at its end.
    private mutating func readFromConnection() async throws -> Data? {
        if !buffer.isEmpty {
            defer { buffer = Data() }
            return buffer
        }
        do {
            let data = try await connection.read()
            return data.isEmpty ? nil : data
        } catch let failure as SocketFailure {
            try Task.checkCancellation()
            throw failure.error(of: request, after: head)
        }
    }

    private mutating func readLineOfBody() async throws -> String {
        do {
            return try await readLine()
        } catch SocketFailure.noResponse {
            throw truncated
        }
    }

    private mutating func readLine() async throws -> String {
        while true {
            if let end = buffer.firstIndex(of: 10) {
                let line = buffer[..<end]
                buffer = Data(buffer[(end + 1)...])
                let bytes = line.last == 13 ? line.dropLast() : line
                // Bytes that are not UTF-8 are ISO 8859-1.
                return String(validating: bytes, as: UTF8.self)
                    ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
            }
            guard buffer.count <= Self.maximumHeadLength else { throw invalid("A line is too long.") }
            let start = buffer
            buffer = Data()
            guard let data = try await readFromConnection() else {
                if head == nil, !start.isEmpty, !start.starts(with: "HTTP/".utf8) {
                    throw invalid("The response is not one of HTTP.")
                }
                throw SocketFailure.noResponse
            }
            buffer = start + data
        }
    }

    private var truncated: NetworkingError {
        NetworkingError(.truncated, request: request, response: partialResponse)
    }

    private func invalid(_ reason: String) -> NetworkingError {
        NetworkingError(.invalidResponse, request: request, response: partialResponse, reason: reason)
    }

    private var partialResponse: HTTPResponseData? {
        head.map { HTTPResponseData(request: request, http: $0, body: .delivered(byteCount: received)) }
    }
}
