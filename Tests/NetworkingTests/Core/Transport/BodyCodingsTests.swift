import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@testable import NetworkingCore

@Suite(.timeLimit(.minutes(20)))
struct BodyCodingsTests {
    @Test(arguments: [
        (nil, []), ("", []), (" , ,", []), ("identity", []), ("gzip", ["gzip"]), ("X-GZip , identity", ["gzip"]),
        ("deflate,gzip", ["deflate", "gzip"]), ("x-compress", ["compress"]), ("gz ip", ["gz ip"]),
    ])
    func readsContentCodingsInOrder(field: String?, codings: [String]) {
        #expect(BodyCodings(contentEncoding: field, transferEncoding: nil).content == codings)
    }

    @Test(arguments: [
        ("chunked", [], true), ("gzip, chunked", ["gzip"], true), ("chunked, gzip", ["chunked", "gzip"], false),
        ("chunked, chunked", ["chunked"], true), ("identity", [], false), ("identity, Chunked,", [], true),
    ])
    func onlyAFinalChunkedFramesABody(field: String, codings: [String], isChunked: Bool) {
        let found = BodyCodings(contentEncoding: nil, transferEncoding: field)
        #expect(found.transfer == codings)
        #expect(found.isChunked == isChunked)
    }

    @Test(arguments: [
        ("gzip", ["gzip"], true), ("gzip, br;q=0", ["gzip", "br"], false), ("*", ["example"], true),
        ("*, gzip;q=0.0", ["gzip"], false), ("X-GZIP ; q=0.001", ["gzip"], true), ("", ["gzip"], false),
        ("br", [], true),
        ("identity;q=1", ["gzip"], false), ("gzip;q=1.0", ["br"], false),
    ])
    func readsAcceptEncoding(field: String, codings: [String], isAccepted: Bool) {
        let found = BodyCodings(contentEncoding: codings.joined(separator: ", "), transferEncoding: nil)
        #expect(found.areAccepted(by: field) == isAccepted)
    }

    @Test(arguments: [HTTPResponse.Status.noContent, .notModified])
    func responseWithoutABodyHasNoCodings(status: HTTPResponse.Status) throws {
        let codings = BodyCodings(contentEncoding: "example", transferEncoding: "gzip")
        for (method, status) in [(HTTPRequest.Method.get, status), (.head, .ok)] {
            let head = HTTPResponse(status: status, headerFields: [.contentEncoding: "example"])
            let found = try HTTPRequestData(method: method)
                .codingsToDecode(codings, decoding: ["gzip"], passesOthers: false, of: head)
            #expect(found.isEmpty)
        }
    }
}
