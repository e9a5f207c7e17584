import HTTPTypes
import Networking
import Testing

/// Content-Range fields (RFC 9110 section 14.4).
struct ContentRangeTests {
    private func range(_ field: String, status: HTTPResponse.Status = .partialContent) -> ContentRange? {
        HTTPResponse(status: status, headerFields: [.contentRange: field]).contentRange
    }

    @Test(
        arguments: [
            ("bytes 0-4/10", 0..<5, 10), ("bytes 0-4/*", 0..<5, nil), ("BYTES 5-9/10", 5..<10, 10),
            ("bytes 0-0/1", 0..<1, 1), ("bytes 007-8/9223372036854775807", 7..<9, .max),
        ] as [(String, Range<Int64>, Int64?)]
    )
    func parsesAPart(field: String, bytes: Range<Int64>, length: Int64?) {
        #expect(range(field)?.range == bytes)
        #expect(range(field)?.length == length)
    }

    @Test(
        arguments: [
            "bytes 0/4-10", "bytes-0-4/10", "bytes/0-4/10", "bytes 0 4/10", "bytes 0 4 10", "bytes 0-4-10", "bytes 0-4",
            "bytes  0-4/10", "bytes 0-4 /10", "bytes 0 - 4/10", "bytes 0-4/10/", "bytes 0--4/10", "bytes -4/10",
            "bytes 0-/10", "bytes 0-4/", "bytes 0-4/x", "bytes 0-4/+10", "bytes +0-4/10", "bytes 0-4/**", "bytes */10",
            "bytes 4-0/10", "bytes 0-10/10", "bytes 0-9223372036854775807/*", "bytes 0-9223372036854775808/*",
            "lines 0-4/10", "0-4/10", "bytes", "", "bytes=0-4/10",
        ]
    )
    func refusesAnythingElse(field: String) {
        #expect(range(field) == nil)
    }

    @Test func otherStatusesHaveNoPart() {
        #expect(range("bytes 0-4/10", status: .ok) == nil)
    }
}
