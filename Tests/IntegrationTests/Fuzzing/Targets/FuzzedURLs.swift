import Foundation
import HTTPTypes

@testable import NetworkingCore

extension FuzzTarget {
    /// URLs and the locations of redirects.
    static let urls = [
        FuzzTarget(
            "urls",
            of: "NetworkingCore/Messages/HTTPRequestData+URL.swift",
            "NetworkingCore/Text/RequestTarget.swift",
            "NetworkingCore/Text/PercentEncoding.swift",
            "NetworkingCore/Messages/Authority.swift"
        ) { bytes in
            let text = bytes.text
            let target = HTTPRequestData.target(path: text)
            try requireEqual(PercentEncoding.encodeTarget(target), target, "encoding twice changes the target")
            let plain = RequestTarget.removingDotSegments(target)
            try requireEqual(RequestTarget.removingDotSegments(plain), plain, "dot segments remain")
            try requireEqual(plain, RequestTarget.model(target), "the model has another path")
            let encoded = PercentEncoding.unreserved.encode(bytes)
            try requireEqual(PercentEncoding.bytes(decoding: encoded), bytes, "the encoded bytes change")
            try requireEqual(PercentEncoding.bytes(strictlyDecoding: encoded) ?? [], bytes, "the encoded bytes change")

            var request = HTTPRequestData(path: text)
            try require(
                request.requestTarget.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
                    || RequestTarget.invalidity(of: request.requestTarget) != nil,
                "a control character is sent"
            )
            guard let url = URL(string: text) else { return }
            request.url = url
            guard let authority = request.authority, Authority(authority).invalidity == nil else { return }
            let written = request.url
            var again = HTTPRequestData(path: "/")
            again.url = written
            try requireEqual(again.authority, request.authority, "the authority changes")
            try requireEqual(again.scheme, request.scheme ?? "https", "the scheme changes")
            try requireEqual(again.requestTarget, request.requestTarget, "the target changes")
            guard let host = url.host(percentEncoded: false) else { return }
            try require(
                Authority(authority).isHost(host),
                "Foundation has the host \(host)"
            )
            if url.port != nil { try requireEqual(url.port, request.port, "Foundation has another port") }
        },
        FuzzTarget(
            "redirects",
            of: "NetworkingCore/Redirects/RedirectRules.swift",
            "NetworkingCore/Text/URL+Reference.swift"
        ) { bytes in
            var request = HTTPRequestData(url: URL(string: "https://api.example.com/v1/users?page=2")!)
            request.headerFields[.authorization] = "Bearer secret"
            request.headerFields[.cookie] = "session=secret"
            let location = bytes.text
            guard HTTPField.isValidValue(location) else { return }
            // The number of bytes chooses the status and the method, so that an input is only a location.
            let status = [301, 302, 303, 307, 308][bytes.count % 5]
            let isPost = bytes.count % 3 == 0
            if isPost {
                request.method = .post
                request.body = .data(Data(bytes))
                request.headerFields[.contentType] = "text/plain"
                request.headerFields[.idempotencyKey] = "1"
            }
            let head = HTTPResponse(status: .init(code: status), headerFields: [.location: location])
            guard let next = try? request.redirected(by: head, after: []) else { return }
            try requireEqual(next.scheme, "https", "the redirect leaves TLS")
            let becomesGet = isPost && status < 304
            try requireEqual(next.method, isPost && !becomesGet ? .post : .get, "the method after \(status)")
            try requireEqual(next.body != nil, isPost && !becomesGet, "a body after \(status)")
            let hasFields = next.headerFields.contains(.contentType) || next.headerFields.contains(.idempotencyKey)
            try require(!(becomesGet && hasFields), "fields of the body that is gone")
            try require(Authority(next.authority ?? "").invalidity == nil, "the authority is not valid")
            try require(RequestTarget.invalidity(of: next.closedTarget) == nil, "the target is not valid")
            let isElsewhere = next.origin != request.origin
            try requireEqual(
                next.headerFields[.authorization] == nil,
                isElsewhere,
                "credentials and their origin differ"
            )
            guard let url = next.url, let host = url.host(percentEncoded: false) else {
                throw FuzzFailure(description: "the next request has no URL")
            }
            // The server that a transport connects to is the one that the rules have seen.
            try require(
                Authority(next.authority ?? "").isHost(host),
                "Foundation has the host \(host)"
            )
            try requireEqual(url.port, next.port, "Foundation has another port")
        },
    ]
}

extension RequestTarget {
    /// RFC 3986 section 5.2.4, step by step.
    fileprivate static func model(_ target: String) -> String {
        guard target.utf8.first == UInt8(ascii: "/") else { return target }
        let (path, query) = split(target)
        var output: [String] = []
        let segments = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
            .map { String(Substring($0)) }
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch segment.replacing("%2e", with: ".").replacing("%2E", with: ".") {
            case ".": if isLast { output.append("") }
            case "..":
                if !output.isEmpty { output.removeLast() }
                if isLast { output.append("") }
            default: output.append(segment)
            }
        }
        return "/" + output.joined(separator: "/") + (query.map { "?\($0)" } ?? "")
    }
}
