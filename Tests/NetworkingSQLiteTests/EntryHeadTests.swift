#if SQLite
import Foundation
import HTTPTypes
import Networking
import TestSupport
import Testing

@testable import NetworkingSQLite

@Suite(.tags(.memory), .timeLimit(.minutes(20)))
struct EntryHeadTests {
    @Test func rejectsInvalidHeads() {
        let part = CachedEntry.Part(range: 0..<4, length: 9)
        let entry = CachedEntry.sample().with(part: part, varying: ["accept": "*/*"])
        let head = EntryHead.encode(entry)
        func decoded(_ bytes: some Collection<UInt8>) -> CachedEntry? {
            Data(bytes).withUnsafeBytes { EntryHead.decode($0, id: entry.id, body: entry.body) }
        }
        #expect(decoded(head) == entry)
        for count in 0..<head.count {
            #expect(decoded(head.prefix(count)) == nil)
        }
        // Damaged lengths must not cause a read beyond the bytes.
        for index in 0..<head.count {
            for value in [0, 0x7f, 0x80, 0xff] as [UInt8] {
                var damaged = head
                damaged[index] = value
                _ = decoded(damaged)
            }
        }
        #expect(decoded(Data(repeating: 0xff, count: 100)) == nil)
    }

    @Test func checksumMatchesKnownValues() {
        func checksum(_ bytes: [UInt8]) -> UInt32 {
            var checksum = Checksum()
            bytes.withUnsafeBytes { checksum.add($0) }
            return checksum.value
        }
        #expect(checksum([]) == 0)
        #expect(checksum(Array("123456789".utf8)) == 0xcbf4_3926)
        #expect(checksum(Array("The quick brown fox jumps over the lazy dog".utf8)) == 0x414f_a339)
        #expect(checksum([UInt8](repeating: 0, count: 32)) == 0x190a_55ad)
    }
}
#endif
