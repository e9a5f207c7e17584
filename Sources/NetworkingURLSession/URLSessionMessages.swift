#if URLSession
import Foundation
package import NetworkingCore
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
import HTTPTypes

extension URLRequest {
    /// Creates the request for URLSession.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - asksForCodings: Whether URLSession may request content codings if the request does not specify any.
    /// - Throws: `NetworkingError.Kind.invalidRequest` if URLSession cannot send the request to its server and path.
    package init(_ request: HTTPRequestData, asksForCodings: Bool = true) throws {
        // A session of the app may have a cache that the stack does not know.
        self.init(url: try request.urlForURLSession(), cachePolicy: .reloadIgnoringLocalCacheData)
        // On Linux the setter compares the method with six names through `NSString`, and GET is the default.
        if request.method != .get {
            httpMethod = request.method.rawValue
        }
        // Sets all fields as one dictionary. Setting them one by one searches all fields each time, which costs five
        // times as much. A range of a compressed body cannot be decoded.
        let isPlain = !asksForCodings || request.headerFields.contains(.range)
        if isPlain, !request.headerFields.contains(.acceptEncoding) {
            var fields = Self.dictionary(of: request.headerFields.httpFields)
            fields["Accept-Encoding"] = "identity"
            allHTTPHeaderFields = fields
        } else if !request.headerFields.isEmpty {
            allHTTPHeaderFields = Self.dictionary(of: request.headerFields.httpFields)
        }
        // A jar of the stack replaces the session's storage. On Linux no session of the library has one.
        if request.areCookiesHandled {
            httpShouldHandleCookies = false
        }
        #if canImport(Darwin)
        if !request.allowsCellularAccess {
            allowsCellularAccess = false
        }
        if !request.allowsExpensiveAccess {
            allowsExpensiveNetworkAccess = false
        }
        if !request.allowsConstrainedAccess {
            allowsConstrainedNetworkAccess = false
        }
        if request.assumesHTTP3 {
            assumesHTTP3Capable = true
        }
        #endif
        let patience = request.allowedSilence
        if patience > .seconds(60) {
            // URLSession's own limit of 60 s between packets must not end a request that the stack allows to take
            // longer. The maximum is ten years: the value is converted to whole milliseconds, and the conversion traps
            // if they do not fit.
            timeoutInterval = Double(min(patience.components.seconds, 10 * 365 * 86_400)) + 2
        }
    }
}

extension URLRequest {
    /// Returns the fields by name, with repeated fields joined, because URLSession sends one field per name, ignoring
    /// case.
    private static func dictionary(of fields: HTTPFields) -> [String: String] {
        var values = [String: String](minimumCapacity: fields.count + 1)
        for field in fields {
            if values.isEmpty || fields[fields: field.name].count == 1 {
                values[field.name.rawName] = field.value
            } else {
                values[fields[fields: field.name][0].name.rawName] = fields[field.name]
            }
        }
        return values
    }
}

/// The head of a response, and the content codings that URLSession has removed from its body.
package struct ReceivedHead {
    package var http: HTTPResponse
    /// The codings of the body on the wire.
    private let codings: BodyCodings
    /// The codings that URLSession decodes; `nil` if it returns the body as it is on the wire.
    let decodedCoding: String?
    /// The length of the body on the wire, in bytes, if the head states it (RFC 9112 section 6.3).
    let encodedLength: Int64?

    /// Reads the head of a response to a method; `nil` if it is not valid HTTP.
    ///
    /// A status below 200 is not valid either: no request asks for an upgrade, so a final response has a different
    /// status.
    package init?(_ response: URLResponse, to method: HTTPRequest.Method) {
        guard let response = response as? HTTPURLResponse, (200...999).contains(response.statusCode) else { return nil }
        http = HTTPResponse(response)
        guard http.hasBody(inResponseTo: method) else {
            codings = BodyCodings(contentEncoding: nil, transferEncoding: nil)
            decodedCoding = nil
            encodedLength = nil
            return
        }
        let transferEncoding = http.headerFields[.transferEncoding]
        codings = BodyCodings(
            contentEncoding: http.headerFields[.contentEncoding],
            transferEncoding: transferEncoding
        )
        if transferEncoding != nil {
            // The transfer coding frames the body, whatever length is stated. If only the end of the connection ends
            // the body, a length is a contradiction, and libcurl would wait for that end (RFC 9112 section 6.3).
            guard codings.isChunked || !http.headerFields.contains(.contentLength) else { return nil }
            encodedLength = nil
        } else if let lengths = http.headerFields[.contentLength] {
            guard let length = Self.length(in: lengths) else { return nil }
            encodedLength = length
        } else {
            encodedLength = nil
        }
        guard codings.areDecoded(by: Self.knownCodings) else {
            decodedCoding = nil
            return
        }
        decodedCoding = codings.text
        // Both fields describe the bytes on the wire, which no component of the stack receives.
        http.headerFields[.contentEncoding] = nil
        http.headerFields[.contentLength] = nil
    }

    /// Returns the head of an interim response, which the final one follows; `nil` for any other response.
    static func interim(_ response: URLResponse) -> HTTPResponse? {
        guard let response = response as? HTTPURLResponse, (100..<200).contains(response.statusCode) else { return nil }
        return HTTPResponse(response)
    }

    /// The length of the body that the sink or memory receives, in bytes, if it is known.
    var length: Int64? {
        decodedCoding == nil ? encodedLength : nil
    }

    /// Returns the error for a body that URLSession cannot return correctly; `nil` for any other body.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - accepted: The fields of the request and the session with the codings that they accept; `nil` if URLSession
    ///     checks coded bodies to their end.
    /// - Returns: The error.
    func refusal(of request: HTTPRequestData, accepting accepted: [String]?) -> NetworkingError? {
        guard !codings.isEmpty else { return nil }
        do {
            let decoded = try request.codingsToDecode(
                codings,
                decoding: Self.knownCodings,
                passesOthers: Self.passesUnknownCodings,
                of: http
            )
            guard let accepted, !decoded.isEmpty, encodedLength != 0,
                !accepted.contains(where: codings.areAccepted)
            else { return nil }
            return request.unverifiableCoding(codings.text, of: http)
        } catch {
            return error
        }
    }

    /// The content codings that URLSession decodes.
    private static let knownCodings: Set<String> = ["gzip", "deflate", "br", "zstd"]

    /// Whether URLSession returns bodies in other codings as they are.
    ///
    /// libcurl fails, or decodes them partly.
    private static var passesUnknownCodings: Bool {
        #if canImport(FoundationNetworking)
        false
        #else
        true
        #endif
    }

    /// Returns the length that a field states, once or several times with the same value; `nil` if it is not valid.
    private static func length(in field: String) -> Int64? {
        if let length = number(field) { return length }
        let lengths = Set(field.split(separator: ",").map { number($0.trimmingCharacters(in: .whitespaces)) })
        return lengths.count == 1 ? lengths.first ?? nil : nil
    }

    /// Returns a number that consists only of digits (RFC 9110 section 8.6); `Int64` would also accept a sign.
    private static func number(_ text: some StringProtocol) -> Int64? {
        DecimalDigits.number(text.utf8)
    }
}

extension HTTPResponse {
    fileprivate init(_ response: HTTPURLResponse) {
        self.init(status: HTTPResponse.Status(standard: response.statusCode))
        headerFields.reserveCapacity(response.allHeaderFields.count)
        for (name, value) in response.allHeaderFields {
            // `base as?` is a plain cast, while `name as?` uses the bridge.
            guard let name = name.base as? String, let value = value as? String, let name = HTTPField.Name(name) else {
                continue
            }
            if name == .setCookie {
                for cookie in JoinedCookies.split(value) {
                    headerFields.appendReceived(name, cookie)
                }
            } else {
                headerFields.appendReceived(name, value)
            }
        }
    }
}
#endif
