import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@Suite
struct IncrementalTests {
    @Test func setsAndRemovesTheField() {
        var request = HTTPRequestData.lawful
        #expect(!request.isIncremental)
        request.isIncremental = true
        #expect(request.isIncremental)
        #expect(request.headerFields[.incremental] == "?1")
        request.isIncremental = false
        #expect(request.headerFields[.incremental] == nil)
    }

    @Test(arguments: [("?1", true), ("?1;a=2", true), ("?0", false), ("1", false), ("true", false), ("?1, ?1", false)])
    func readsTheField(value: String, expected: Bool) {
        #expect(HTTPRequestData(headerFields: [.init(.incremental): value]).isIncremental == expected)
    }
}
