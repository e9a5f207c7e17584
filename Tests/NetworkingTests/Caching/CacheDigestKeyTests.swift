import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCore

@Suite(.tags(.memory)) struct CacheDigestKeyTests {
    @Test func keepsItsBytes() throws {
        let key = CacheDigestKey()
        #expect(key.bytes.count == CacheDigestKey.byteCount)
        #expect(CacheDigestKey(bytes: key.bytes) == key)
        #expect(CacheDigestKey(bytes: Array(0..<16))?.bytes == Array(0..<16))
        #expect(CacheDigestKey() != key)
    }

    @Test(arguments: [0, 8, 15, 17]) func hasSixteenBytes(count: Int) {
        #expect(CacheDigestKey(bytes: Array(repeating: 1, count: count)) == nil)
    }

    @Test func acceptsARandomSourceWithTooFewBytes() {
        var environment = NetworkEnvironment.current
        environment.secureRandom = SecureRandomSource { _ in [7] }
        NetworkEnvironment.$current.withValue(environment) {
            #expect(CacheDigestKey().bytes == [7] + Array(repeating: 0, count: 15))
        }
    }

    @Test func descriptionContainsNoByte() throws {
        let key = try #require(CacheDigestKey(bytes: Array(repeating: 0xab, count: 16)))
        let print = everyPrint(of: key).lowercased()
        #expect(!print.contains("ab") && !print.contains("171"), "\(print)")
    }
}
