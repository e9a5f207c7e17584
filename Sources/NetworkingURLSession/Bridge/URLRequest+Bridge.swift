#if URLSession
public import Foundation
import HTTPTypes
public import NetworkingCore

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

extension NetworkingComponent {
    /// Sends a `URLRequest` through the stack, for code that was written for `URLSession`.
    ///
    /// ```swift
    /// let (data, response) = try await network.data(for: URLRequest(url: url))
    /// ```
    ///
    /// A `URLSession` that is used as a component has its own method with this name, which bypasses the stack. A
    /// relative URL is completed by the stack's `server`.
    ///
    /// - Parameter request: The request; ``HTTPRequestData/init(urlRequest:)`` lists the properties that are used.
    /// - Returns: The body, and an `HTTPURLResponse`, whatever its status code.
    /// - Throws: The errors of `data`, which never throws a `URLError`, and those of
    ///   ``HTTPRequestData/init(urlRequest:)``.
    public func data(for request: URLRequest) async throws -> (Data, URLResponse) {
        let response = try await data(HTTPRequestData(urlRequest: request))
        guard let url = response.url,
            let bridged = HTTPURLResponse(
                url: url,
                statusCode: response.status.code,
                httpVersion: nil,
                headerFields: response.headerFields.dictionary
            )
        else {
            throw NetworkingError(
                .invalidResponse,
                request: response.sentRequest,
                response: response,
                reason: "The response cannot be a URLResponse, because Foundation finds no URL in its request."
            )
        }
        return (response.data, bridged)
    }
}

extension HTTPRequestData {
    /// Creates a request from a `URLRequest`.
    ///
    /// Its method, URL, header fields and body are used, and its `Content-Length` is left to the transport. A
    /// `timeoutInterval` other than Foundation's 60 seconds becomes ``idleTimeout``, which needs a `timeout` in the
    /// stack. A cache policy becomes `Cache-Control`, unless the request has that field: `no-cache` if local data is
    /// ignored, `max-stale` if it is preferred, and `only-if-cached` if nothing may be loaded. All other properties are
    /// ignored.
    ///
    /// - Parameter urlRequest: The request.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/invalidRequest`` if the method is not valid, and
    ///   of kind ``NetworkingError/Kind/unencodableBody`` if the body is an `InputStream`.
    public init(urlRequest: URLRequest) throws(NetworkingError) {
        var request = urlRequest.url.map { HTTPRequestData(url: $0) } ?? HTTPRequestData()
        let name = urlRequest.httpMethod ?? "GET"
        guard let method = HTTPRequest.Method(name) else {
            throw NetworkingError(
                .invalidRequest,
                request: request,
                reason: "The method of the URLRequest is not a token of HTTP. Check its httpMethod."
            )
        }
        request.method = method
        var fields = urlRequest.allHTTPHeaderFields ?? [:]
        for field in fields.keys where field.lowercased() == "content-length" {
            fields[field] = nil
        }
        request.headerFields = HeaderFields(fields)
        if let body = urlRequest.httpBody {
            let contentType = request.headerFields[.contentType] ?? "application/octet-stream"
            request.body = .data(body, contentType: contentType)
        } else if urlRequest.httpBodyStream != nil {
            throw NetworkingError(
                .unencodableBody,
                request: request,
                reason: "The body of the URLRequest is an InputStream, which cannot be read here. Use httpBody, or an "
                    + "HTTPRequestData with a file or a stream as its body."
            )
        }
        let interval = urlRequest.timeoutInterval
        if interval > 0, interval != 60, interval < 1e9 {
            request.idleTimeout = .seconds(interval)
        }
        if let control = urlRequest.cacheControl, !request.headerFields.contains(.cacheControl) {
            request.headerFields[.cacheControl] = control
        }
        self = request
    }
}

extension URLRequest {
    /// The directive of a request that means the same as the cache policy; `nil` for the default policy.
    fileprivate var cacheControl: String? {
        switch cachePolicy {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData, .reloadRevalidatingCacheData:
            "no-cache"
        case .returnCacheDataElseLoad: "max-stale"
        case .returnCacheDataDontLoad: "only-if-cached"
        default: nil
        }
    }
}
#endif
