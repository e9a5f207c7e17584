#if URLSession
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
import HTTPTypes

extension URLRequest {
    /// The request as URLSession wants it; nil when Foundation finds no URL in it.
    init?(_ request: HTTPRequestData) {
        guard let string = request.absoluteString, let url = URL(string: string) else { return nil }
        self.init(url: url)
        httpMethod = request.method.rawValue
        for field in request.headerFields.httpFields {
            addValue(field.value, forHTTPHeaderField: field.name.rawName)
        }
        httpBody = request.body?.data
        if let timeout = request.timeout {
            // URLSession's own 60 s between packets must not end what the stack allows to take longer. Never less:
            // swift-corelibs-foundation makes 1 ms of anything below a second.
            timeoutInterval = max(60, Double(timeout.components.seconds) + 2)
        }
    }
}

extension HTTPResponse {
    /// The head of a response; nil when it is not HTTP.
    init?(_ response: HTTPURLResponse) {
        guard (100...999).contains(response.statusCode) else { return nil }
        self.init(status: Status(standard: response.statusCode))
        headerFields.reserveCapacity(response.allHeaderFields.count)
        for case (let name as String, let value as String) in response.allHeaderFields {
            guard let name = HTTPField.Name(name) else { continue }
            headerFields.append(HTTPField(name: name, value: value))
        }
        removeDecodedCoding()
    }

    /// Takes off the fields that describe the bytes on the wire, when URLSession hands out decoded ones.
    private mutating func removeDecodedCoding() {
        guard let coding = headerFields[.contentEncoding]?.lowercased() else { return }
        switch coding {
        case "gzip", "x-gzip", "deflate":
            headerFields[.contentEncoding] = nil
            headerFields[.contentLength] = nil
        default:
            break
        }
    }
}
#endif
