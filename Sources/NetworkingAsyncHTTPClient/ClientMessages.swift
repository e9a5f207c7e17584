#if AsyncHTTPClient
import AsyncHTTPClient
import HTTPTypes
import NetworkingCore
import NIOCore
import NIOHTTP1

extension HTTPClientRequest {
    /// Converts a request that has been checked: its URL and its fields are valid.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - upload: The reader of its body, unless the body is passed as a whole.
    ///   - hasGuards: Whether the guards of `HTTPClient.Configuration.networking` are in the client's connections.
    /// - Throws: `NetworkingError.Kind.invalidRequest` if AsyncHTTPClient cannot send the request to its server and
    ///   path.
    init(_ request: HTTPRequestData, sending upload: Upload?, hasGuards: Bool = true) throws {
        self.init(url: try request.urlForClient(hasGuards: hasGuards))
        method = HTTPMethod(rawValue: request.method.rawValue)
        headers.reserveCapacity(request.headerFields.count + 3)
        for field in request.headerFields.httpFields {
            headers.add(name: field.name.rawName, value: field.value)
        }
        // A range refers to the encoded bytes, so the encoding must match the caller's expectation.
        if !headers.contains(name: "Accept-Encoding"), !headers.contains(name: "Range") {
            headers.add(name: "Accept-Encoding", value: BodyDecoder.acceptedCodings(of: request))
        }
        if let upload {
            body = .stream(upload, length: request.body?.length.map { .known($0) } ?? .unknown)
        } else if let data = request.body?.data {
            body = .bytes(ByteBuffer(bytes: data))
        }
    }
}

/// The head of a response, and the fields that describe its framing.
struct ReceivedHead {
    private(set) var http: HTTPResponse
    private(set) var contentLength: String?
    private var contentEncoding: String?
    private var transferEncoding: String?

    /// The usual spellings of the most common fields: a lookup costs a third of parsing a name.
    private static let knownNames: [String: HTTPField.Name] = {
        let names: [HTTPField.Name] = [
            .accept, .acceptRanges, .age, .cacheControl, .connection, .contentEncoding, .contentLength, .contentType,
            .date,
            .eTag, .expires, .lastModified, .location, .server, .setCookie, .transferEncoding, .vary,
        ]
        let spellings = names.flatMap { [($0.rawName, $0), ($0.canonicalName, $0)] }
        return Dictionary(spellings) { first, _ in first }
    }()

    /// Converts a head of AsyncHTTPClient; `nil` if its status is invalid.
    init?(_ status: HTTPResponseStatus, _ headers: HTTPHeaders) {
        let code = Int(status.code)
        guard (100...999).contains(code) else { return nil }
        http = HTTPResponse(status: HTTPResponse.Status(standard: code))
        http.headerFields.reserveCapacity(headers.count)
        // In one pass, because each search by name would first build an index.
        for (name, value) in headers {
            guard let name = Self.knownNames[name] ?? HTTPField.Name(name) else { continue }
            http.headerFields.appendReceived(name, value)
            switch name {
            case .contentLength: contentLength = value
            case .contentEncoding: contentEncoding = contentEncoding.map { "\($0), \(value)" } ?? value
            case .transferEncoding: transferEncoding = transferEncoding.map { "\($0), \(value)" } ?? value
            default: break
            }
        }
    }

    /// The codings of the body.
    var codings: BodyCodings {
        BodyCodings(contentEncoding: contentEncoding, transferEncoding: transferEncoding)
    }

    /// Whether a transfer coding frames the body, whatever length is stated.
    var isFramed: Bool {
        transferEncoding != nil
    }
}
#endif
