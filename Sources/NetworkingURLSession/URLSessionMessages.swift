#if URLSession
import Foundation
package import NetworkingCore
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
import HTTPTypes

extension URLRequest {
    /// The request as URLSession wants it; nil when Foundation finds no URL in it.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - asksForCodings: Whether URLSession may ask for content codings if the request does not say.
    package init?(_ request: HTTPRequestData, asksForCodings: Bool = true) {
        // Nothing is encoded on the way: what was given is sent.
        guard let string = request.absoluteString, let url = URL(string: string, encodingInvalidCharacters: false)
        else {
            return nil
        }
        // A session of the app's may have a cache, of which the stack knows nothing.
        self.init(url: url, cachePolicy: .reloadIgnoringLocalCacheData)
        // On Linux the setter compares with six names through NSString, and GET is the default.
        if request.method != .get {
            httpMethod = request.method.rawValue
        }
        // As one dictionary: setting fields one by one searches them anew for each, which costs five times as much.
        // A range of a compressed body cannot be decoded.
        let isPlain = !asksForCodings || request.headerFields.contains(.range)
        if isPlain, !request.headerFields.contains(.acceptEncoding) {
            var fields = Self.dictionary(of: request.headerFields.httpFields)
            fields["Accept-Encoding"] = "identity"
            allHTTPHeaderFields = fields
        } else if !request.headerFields.isEmpty {
            allHTTPHeaderFields = Self.dictionary(of: request.headerFields.httpFields)
        }
        let patience = request.allowedSilence
        if patience > .seconds(60) {
            // URLSession's own 60 s between packets must not end what the stack allows to take longer.
            // Ten years at most: it is counted in whole milliseconds on the way, and traps when those do not fit.
            timeoutInterval = Double(min(patience.components.seconds, 10 * 365 * 86_400)) + 2
        }
    }
}

extension URLRequest {
    /// Fields by their names, repeated ones joined, since URLSession sends one for each name, whatever its case.
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

/// The head of a response, and what URLSession did to the body that follows.
package struct ReceivedHead {
    package var http: HTTPResponse
    /// The codings that URLSession undoes; nil when it hands out what is on the wire.
    private(set) var decodedCoding: String?
    /// How many bytes of body there will be on the wire, if the head says so (RFC 9112 section 6.3).
    let encodedLength: Int64?

    /// Reads the head of an answer to a method; nil when it is not valid HTTP.
    ///
    /// A status below 200 is not valid either: no request asks for an upgrade, so a final response has another.
    package init?(_ response: URLResponse, to method: HTTPRequest.Method) {
        guard let response = response as? HTTPURLResponse, (200...999).contains(response.statusCode) else { return nil }
        http = HTTPResponse(status: HTTPResponse.Status(standard: response.statusCode))
        http.headerFields.reserveCapacity(response.allHeaderFields.count)
        for (name, value) in response.allHeaderFields {
            // `base as?` is a plain cast, where `name as?` goes through the bridge.
            guard let name = name.base as? String, let value = value as? String, let name = HTTPField.Name(name) else {
                continue
            }
            if name == .setCookie {
                http.headerFields.append(
                    contentsOf: JoinedCookies.split(value).map { HTTPField(name: name, value: $0) }
                )
            } else {
                http.headerFields.append(HTTPField(name: name, value: value))
            }
        }
        guard http.hasBody(inAnswerTo: method) else {
            encodedLength = nil
            return
        }
        if http.headerFields.contains(.transferEncoding) {
            // It frames the body, whatever length is claimed.
            encodedLength = nil
        } else if let lengths = http.headerFields[.contentLength] {
            guard let length = Self.length(in: lengths) else { return nil }
            encodedLength = length
        } else {
            encodedLength = nil
        }
        if let coding = http.headerFields[.contentEncoding], Self.isDecoded(coding) {
            decodedCoding = coding
            // They describe the bytes on the wire, which nobody gets to see.
            http.headerFields[.contentEncoding] = nil
            http.headerFields[.contentLength] = nil
        }
    }

    /// How many bytes of body the request's sink or memory will get, if that is known.
    var length: Int64? {
        decodedCoding == nil ? encodedLength : nil
    }

    /// Returns the length that a field claims, once or several times alike; `nil` if it is not a valid length.
    private static func length(in field: String) -> Int64? {
        if let length = number(field) { return length }
        let lengths = Set(field.split(separator: ",").map { number($0.trimmingCharacters(in: .whitespaces)) })
        return lengths.count == 1 ? lengths.first ?? nil : nil
    }

    /// Returns a number of digits alone (RFC 9110 section 8.6); `Int64` would also read a sign.
    private static func number(_ text: some StringProtocol) -> Int64? {
        DecimalDigits.number(text.utf8)
    }

    /// Whether URLSession undoes these codings, all of them: more than one are listed in the order they were applied.
    static func isDecoded(_ contentEncoding: String) -> Bool {
        contentEncoding.split(separator: ",")
            .allSatisfy { coding in
                switch coding.trimmingCharacters(in: .whitespaces).lowercased() {
                case "gzip", "x-gzip", "deflate", "br", "zstd": true
                default: false
                }
            }
    }
}
#endif
