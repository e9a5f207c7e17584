#if URLSession
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
import HTTPTypes

extension URLRequest {
    /// The request as URLSession wants it; nil when Foundation finds no URL in it.
    init?(_ request: HTTPRequestData) {
        // Nothing is encoded on the way: what was given is sent.
        guard let string = request.absoluteString, let url = URL(string: string, encodingInvalidCharacters: false)
        else {
            return nil
        }
        self.init(url: url)
        // On Linux the setter compares with six names through NSString, and GET is the default.
        if request.method != .get {
            httpMethod = request.method.rawValue
        }
        // As one dictionary: setting fields one by one searches them anew for each, which costs five times as much.
        if !request.headerFields.isEmpty {
            allHTTPHeaderFields = Self.dictionary(of: request.headerFields.httpFields)
        }
        httpBody = request.body?.data
        let patience = request.transportPatience
        if patience > .seconds(60) {
            // URLSession's own 60 s between packets must not end what the stack allows to take longer.
            timeoutInterval = Double(patience.components.seconds) + 2
        }
    }
}

extension URLRequest {
    /// Fields by their names, repeated ones joined, since URLSession sends one for each name, whatever its case.
    private static func dictionary(of fields: HTTPFields) -> [String: String] {
        var values = [String: String](minimumCapacity: fields.count)
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

extension HTTPResponse {
    /// The head of a response; nil when it is not HTTP.
    init?(_ response: HTTPURLResponse) {
        guard (100...999).contains(response.statusCode) else { return nil }
        self.init(status: Status(standard: response.statusCode))
        headerFields.reserveCapacity(response.allHeaderFields.count)
        for (name, value) in response.allHeaderFields {
            // `base as?` is a plain cast, where `name as?` goes through the bridge.
            guard let name = name.base as? String, let value = value as? String, let name = HTTPField.Name(name) else {
                continue
            }
            headerFields.append(HTTPField(name: name, value: value))
        }
        removeDecodedCoding()
    }

    /// Takes off the fields that describe the bytes on the wire, when URLSession hands out decoded ones.
    private mutating func removeDecodedCoding() {
        guard let coding = headerFields[.contentEncoding]?.lowercased() else { return }
        switch coding {
        case "gzip", "x-gzip", "deflate", "br", "zstd":
            headerFields[.contentEncoding] = nil
            headerFields[.contentLength] = nil
        default:
            break
        }
    }
}
#endif
