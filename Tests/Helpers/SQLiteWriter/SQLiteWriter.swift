#if SQLite
import Foundation
import HTTPTypes
import Networking
import NetworkingSQLite

/// Stores numbered entries in a loop and prints the number of each one that is acknowledged, for tests that kill this
/// process or run several.
///
/// Arguments: `cache`, `cookies` or `limit`, the file, the first number, and the number of entries; with 0 it continues
/// until it is killed. It also ends with its standard input. With `limit`, an entry is a request under a limit of 100 per
/// second, which all processes with the file share.
@main
enum SQLiteWriter {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let first = Int(arguments[3]), let count = Int(arguments[4]) else {
            fatalError("usage: SQLiteWriter cache|cookies|limit <file> <first number> <count>")
        }
        endWithParent()
        let file = URL(fileURLWithPath: arguments[2])
        let cache = SQLiteCacheStore(file: file, costLimit: 1 << 30)
        let cookies = SQLiteCookieStorage(file: file)
        if arguments[1] == "limit" { return try await sendRequests(file, first: first, count: count) }
        var number = first
        while count == 0 || number < first + count {
            if arguments[1] == "cookies" {
                try await cookies.save(archive(number))
            } else {
                try await cache.store(entry(number), for: key(number))
            }
            // At once, and not through a buffer that would end with the process.
            FileHandle.standardOutput.write(Data("\(number)\n".utf8))
            number += 1
        }
    }

    /// Sends requests with several callers.
    private static func sendRequests(_ file: URL, first: Int, count: Int) async throws {
        let sharing = RateLimiter.Sharing(
            in: SQLiteRateLimit(file: file),
            as: "vendor",
            localShare: 0.01,
            timeout: .seconds(2)
        )
        let network = MockTransport { _ in .ok() }
            .rateLimited(by: RateLimiter(100, per: .seconds(1), burst: 1, sharing: sharing))
        let callers = 20
        try await withThrowingTaskGroup(of: Void.self) { group in
            for caller in 0..<callers {
                group.addTask {
                    var number = first + caller
                    while count == 0 || number < first + count {
                        _ = try await network.send(HTTPRequestData(authority: "a.example"))
                        FileHandle.standardOutput.write(Data("\(number)\n".utf8))
                        number += callers
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// The number as a cookie of several principals, in values of any length.
    static func archive(_ number: Int) -> CookieArchive {
        let sessions = (0..<5)
            .map { principal in
                let cookie = Cookie(
                    name: "\(number)",
                    value: String(repeating: "x", count: (number + principal) * 997 % 4_000),
                    domain: "a.example",
                    expires: Date(timeIntervalSince1970: 4_000_000_000),
                    created: Date(timeIntervalSince1970: 1_000)
                )
                return CookieArchive.Session(principal: "\(principal)", id: "\(number)", cookies: [cookie])
            }
        return CookieArchive(key: Array(repeating: 7, count: 16), sessions: sessions)
    }

    /// Ends this process when its standard input ends, which happens when the process of the tests ends.
    private static func endWithParent() {
        Thread.detachNewThread {
            while !FileHandle.standardInput.availableData.isEmpty {}
            exit(1)
        }
    }

    static func key(_ number: Int) -> CacheKey {
        CacheKey(principal: nil, url: "https://a.example/\(number)")
    }

    /// An entry with a body of a few bytes to several pages of the database.
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
