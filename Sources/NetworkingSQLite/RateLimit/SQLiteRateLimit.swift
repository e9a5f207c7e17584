#if SQLite
public import Foundation
import GRDB
import NetworkingCore
public import NetworkingTraffic

/// Stores the state of rate limits in an SQLite file, so that the processes of one machine share them.
///
/// ```swift
/// let store = SQLiteRateLimit(file: folder.appending(path: "limits.sqlite"))
/// let sharing = RateLimiter.Sharing(in: store, as: "payments", localShare: 1 / 4)   // 4 processes
/// let limiter = RateLimiter(100, per: .seconds(1), burst: 10, sharing: sharing)
/// ```
///
/// A decision is one transaction. It uses the system's date; if that goes back, the remaining times stay the same.
/// The file contains a digest instead of the name and the group of a limit, and a row is removed some time after the
/// limit is as if it had never been used. A damaged file is renamed and replaced by an empty one.
///
/// Use a file of a local disk: SQLite's locks do not work on all network file systems.
public final class SQLiteRateLimit: RateLimitStore {
    /// The file of the database; SQLite and the store create other files with names that start with its name.
    public var file: URL {
        database.file
    }

    let database: DatabaseHandle<DatabaseFile, SQLiteRateLimitError>
    private let now: @Sendable () -> Duration

    /// Creates a store.
    ///
    /// - Parameter file: The file, which is created with its directory when the store is first used.
    public convenience init(file: URL) {
        self.init(file: file, settings: Self.settings)
    }

    // A decision that waits longer is no longer of use to its limiter.
    static let settings = DatabaseFile.Settings(
        label: "SQLiteRateLimit",
        schema: .rateLimits,
        patience: .milliseconds(500)
    )

    init(
        file: URL,
        settings: DatabaseFile.Settings,
        now: @escaping @Sendable () -> Duration = { .seconds(Date().timeIntervalSince1970) }
    ) {
        self.now = now
        database = DatabaseHandle(file: file, settings: settings, failure: SQLiteRateLimitError.init) { location in
            try DatabaseFile(at: location, settings)
        }
    }

    /// Takes permits of a limit, after it has given back permits that were not used.
    ///
    /// - Parameter demand: The limit, and the numbers of permits.
    /// - Returns: The permits, or the time after which the process should ask again.
    /// - Throws: ``SQLiteRateLimitError``.
    public func take(_ demand: RateLimitDemand) async throws -> RateLimitGrant {
        let (low, high) = StableDigest.numbers(of: [demand.key])
        let key = withUnsafeBytes(of: (low.bigEndian, high.bigEndian)) { Array($0) }
        return try await database.using { [now] file in
            try await file.writeInPlace { db in
                // Read inside of the transaction, so that the moments of all processes are in the order of the changes.
                let now = now()
                var state = try Self.state(key, db)
                let grant = state.take(demand, at: now)
                let expiry = now + max(state.reserved, state.turns)
                try db.run(
                    RateLimitSQL.set,
                    [
                        Data(key), state.moment.nanoseconds, state.reserved.nanoseconds, state.turns.nanoseconds,
                        expiry.nanoseconds,
                    ]
                )
                try db.run(RateLimitSQL.removeExpired, [now.nanoseconds])
                return grant
            }
        }
    }

    private static func state(_ key: [UInt8], _ db: Database) throws -> RateLimitState {
        var state = RateLimitState()
        try db.forEachRow(RateLimitSQL.state, .bytes(key)) { row in
            state = RateLimitState(
                moment: .nanoseconds(row.integer(0)),
                reserved: .nanoseconds(row.integer(1)),
                turns: .nanoseconds(row.integer(2))
            )
        }
        return state
    }
}

/// The error of a ``SQLiteRateLimit`` whose file cannot be used.
public struct SQLiteRateLimitError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reason, and what to do about it.
    public let description: String

    fileprivate init(_ fault: DatabaseFault, _ file: URL) {
        description = fault.reason(file, store: "rate limit")
    }
}
#endif
