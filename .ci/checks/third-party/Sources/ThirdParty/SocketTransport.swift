import Foundation
import HTTPTypes
import Networking

/// A transport over a socket: HTTP/1.1 without TLS, with a connection for each request.
///
/// A request body is sent before the response is read. Both bodies pass chunk by chunk.
public struct SocketTransport: NetworkingTransport, CustomStringConvertible {
    /// Creates a transport.
    public init() {}

    /// The transport in an outline.
    public var description: String {
        "SocketTransport"
    }

    /// Sends the request on a new connection.
    public func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        do {
            return try await exchange(request, over: connect(for: request))
        } catch let failure as SocketFailure {
            // The socket of a cancelled request is closed, so that its calls fail.
            try Task.checkCancellation()
            throw failure.error(of: request)
        }
    }

    /// The transport ends an exchange by closing its socket, so it needs no task to be cancelled.
    ///
    /// Neither the lookup of a name nor a sink or the source of a body notices that.
    private static func endsWithItsSocket(_ request: HTTPRequestData) -> Bool {
        let host = request.host ?? ""
        let isAddress = host.hasPrefix("[") || host.allSatisfy { $0 == "." || $0.isNumber }
        return isAddress && request.sink == nil && (request.body == nil || request.body?.data != nil)
    }

    private func connect(for request: HTTPRequestData) async throws -> SocketConnection {
        guard request.scheme == "http", let host = request.host else {
            throw NetworkingError(
                .invalidRequest,
                request: request,
                reason: "SocketTransport speaks plain http only. Use another transport."
            )
        }
        // The stack may limit the silence itself. If it does not, a socket must not wait forever.
        let silence = request.isSilenceLimited ? nil : request.allowedSilence
        return try await SocketConnection.open(
            host: host,
            port: request.port ?? 80,
            allowedSilence: silence,
            limit: request.exchangeLimit
        )
    }

    private func exchange(
        _ request: HTTPRequestData,
        over connection: SocketConnection
    ) async throws -> HTTPResponseData {
        let alarm = request.exchangeLimit?.alarm { connection.shutDown() }
        defer { alarm?.cancel() }
        var progress = TransferProgress(
            sent: BytesSent(expected: request.body.map { $0.length } ?? 0),
            received: BytesReceived()
        )
        request.progressHandler?(progress)
        try await connection.write(request.encodedHead)
        if let body = request.body, body.length != 0 {
            let isChunked = body.length == nil
            for try await chunk in body.chunks where !chunk.isEmpty {
                try await connection.write(isChunked ? chunk.encodedChunk : chunk)
                progress.sent.count += Int64(chunk.count)
                request.progressHandler?(progress)
            }
            if isChunked {
                try await connection.write(Data("0\r\n\r\n".utf8))
            }
        }
        progress.sent.expected = progress.sent.count

        var reader = ResponseReader(connection: connection, request: request)
        let head = try await reader.readHead()
        request.reportHead(head)
        let framing = try reader.framing(of: head)
        progress.received.expected = framing.length
        return try await request.deliver(head) { delivery in
            if let length = framing.length {
                try delivery.checkLength(length)
            }
            while let chunk = try await reader.readChunk(framing) {
                try await delivery.receive(chunk)
                progress.received.count = delivery.byteCount
                request.progressHandler?(progress)
            }
            progress.received = BytesReceived(count: delivery.byteCount, expected: delivery.byteCount)
            request.progressHandler?(progress)
        }
    }
}

extension SocketTransport {
    /// Returns whether closing the socket ends each part of the exchange.
    public func enforcesLimit(of request: HTTPRequestData) -> Bool {
        Self.endsWithItsSocket(request)
    }
}

extension HTTPRequestData {
    fileprivate var encodedHead: Data {
        var head = "\(method.rawValue) \(requestTarget) HTTP/1.1\r\nHost: \(authority ?? "")\r\nConnection: close\r\n"
        if !headerFields.contains(.acceptEncoding) {
            head += "Accept-Encoding: identity\r\n"
        }
        if let body {
            head += body.length.map { "Content-Length: \($0)\r\n" } ?? "Transfer-Encoding: chunked\r\n"
        }
        let replaced: Set<HTTPField.Name> = [.connection, .contentLength, .transferEncoding]
        for field in headerFields.httpFields where !replaced.contains(field.name) {
            head += "\(field.name.rawName): \(field.value)\r\n"
        }
        return Data((head + "\r\n").utf8)
    }
}

extension Data {
    fileprivate var encodedChunk: Data {
        Data("\(String(count, radix: 16))\r\n".utf8) + self + Data("\r\n".utf8)
    }
}

/// The failures of a socket.
enum SocketFailure: Error {
    case unknownHost
    case refused
    case silent
    case lost
    case noResponse

    func error(of request: HTTPRequestData, after head: HTTPResponse? = nil) -> NetworkingError {
        let response = head.map { HTTPResponseData(request: request, http: $0, body: .delivered(byteCount: 0)) }
        let kind: NetworkingError.Kind =
            switch self {
            case .unknownHost: .nameResolution
            case .refused: .connection
            case .silent: .timeout
            case .lost, .noResponse: .connectionLost
            }
        return NetworkingError(kind, request: request, response: response, underlying: self)
    }
}
