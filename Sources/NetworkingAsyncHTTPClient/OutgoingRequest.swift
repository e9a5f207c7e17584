#if AsyncHTTPClient
import AsyncHTTPClient
import HTTPTypes
import Networking
import NIOCore
import NIOHTTP1

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A request as AsyncHTTPClient wants it.
struct OutgoingRequest {
    /// The longest body that is handed over at once: the channel takes it without a pause, whatever the server does.
    private static let longestAtOnce = 32 << 10

    let url: URL
    let method: HTTPMethod
    let headers: HTTPHeaders
    let body: RequestBody?

    /// Translates a request.
    ///
    /// - Throws: A ``NetworkingError`` when Foundation finds no URL in it.
    init(_ request: HTTPRequestData) throws {
        // Nothing is encoded on the way: what was given is sent.
        guard let string = request.absoluteString, let url = URL(string: string, encodingInvalidCharacters: false)
        else {
            throw NetworkingError(
                .invalidRequest,
                request: request,
                reason: "Foundation finds no URL in this request."
            )
        }
        self.url = url
        method = HTTPMethod(rawValue: request.method.rawValue)
        body = request.body
        var headers = HTTPHeaders()
        headers.reserveCapacity(request.headerFields.count + 2)
        for field in request.headerFields.httpFields {
            headers.add(name: field.name.rawName, value: field.value)
        }
        // A range is one of the bytes on the wire, so these must be those that the caller means.
        if !request.headerFields.contains(.acceptEncoding), !request.headerFields.contains(.range) {
            headers.add(name: "Accept-Encoding", value: ReceivedBody.codings)
        }
        self.headers = headers
    }

    /// Whether all of its body is there, and can be handed over at once.
    var isShort: Bool {
        guard let body else { return true }
        return body.data.map { $0.count <= Self.longestAtOnce } ?? false
    }

    /// The request with a short body, for a delegate.
    func request() throws -> HTTPClient.Request {
        let bytes = body?.data.map { HTTPClient.Body.byteBuffer(ByteBuffer(bytes: $0)) }
        return try HTTPClient.Request(url: url, method: method, headers: headers, body: bytes)
    }

    /// The request with a body that is read while it is sent.
    func request(sending chunks: some AsyncSequence<ByteBuffer, any Error> & Sendable) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: url.absoluteString)
        request.method = method
        request.headers = headers
        request.body = .stream(chunks, length: body?.length.map { .known($0) } ?? .unknown)
        return request
    }
}

extension HTTPResponse {
    /// A head as AsyncHTTPClient brings it; nil when its status is none.
    init?(status: HTTPResponseStatus, headers: HTTPHeaders) {
        let code = Int(status.code)
        guard (100...999).contains(code) else { return nil }
        self.init(status: HTTPResponse.Status(standard: code))
        headerFields.reserveCapacity(headers.count)
        for (name, value) in headers {
            guard let name = HTTPField.Name(name) else { continue }
            headerFields.append(HTTPField(name: name, value: value))
        }
    }
}
#endif
