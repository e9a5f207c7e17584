#if SQLite
import Foundation
import HTTPTypes
import Networking
import NetworkingSQLite

/// Stores entries in a loop and prints the number of each one that is acknowledged, for tests that end it or run
/// several.
///
/// Arguments: the file, the first number, and how many; with 0 it goes on until it is ended. It also ends with its
/// standard input.
@main
enum SQLiteWriter {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let first = Int(arguments[2]), let count = Int(arguments[3]) else {
            fatalError("usage: SQLiteWriter <file> <first number> <count>")
        }
        endWithParent()
        let store = SQLiteCacheStore(file: URL(fileURLWithPath: arguments[1]), costLimit: 1 << 30)
        var number = first
        while count == 0 || number < first + count {
            try await store.store(entry(number), for: key(number))
            // At once, and not through a buffer that would end with the process.
            FileHandle.standardOutput.write(Data("\(number)\n".utf8))
            number += 1
        }
    }

    /// Ends this process when its standard input ends, which it does with the process of the tests, however that ends.
    private static func endWithParent() {
        Thread.detachNewThread {
            while !FileHandle.standardInput.availableData.isEmpty {}
            exit(1)
        }
    }

    static func key(_ number: Int) -> CacheKey {
        CacheKey(principal: nil, url: "https://a.example/\(number)")
    }

    /// Its body has any length from a few bytes to more than a few pages of the database.
    static func entry(_ number: Int) -> CachedEntry {
        var line = Data("\(number) \(number &* 2_654_435_761)\n".utf8)
        while line.count < number * 997 % 20_000 {
            line += line
        }
        return CachedEntry(
            id: id(number),
            response: HTTPResponse(
                status: .ok,
                headerFields: [.cacheControl: "max-age=60", .eTag: "\"\(number)\""]
            ),
            body: line,
            requestDate: Date(timeIntervalSince1970: Double(number)),
            responseDate: Date(timeIntervalSince1970: Double(number))
        )
    }

    private static func id(_ number: Int) -> UUID {
        var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &bytes) { $0.storeBytes(of: number, as: Int.self) }
        return UUID(uuid: bytes)
    }
}
#else
@main
enum SQLiteWriter {
    static func main() {}
}
#endif
