import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import NetworkingInspector
import Synchronization

extension Cassette {
    /// The activity of a cassette since it was opened.
    struct State: Sendable {
        /// The ids of the requests that used each interaction of the file.
        var uses: [[HTTPRequestData.ID]]
        /// The recordings, by the order in which their requests arrived.
        var recordings: [Int: Recording] = [:]
        /// The recordings that replace an interaction that was too old.
        var replacements: [Int: Recording] = [:]
        /// The requests that are being recorded.
        var underway: [Int: String] = [:]
        /// The pending recordings with a body that a reader consumes.
        ///
        /// The reader can stop at any time.
        var streams: [Int: PendingRecording] = [:]
        /// The responses that could not be recorded, with the reasons.
        var problems: [String] = []
        /// The interactions already reported as too old.
        var reportedOld: Set<Int> = []
        /// The users, in the order of their first appearance.
        var principals: [Principal] = []
        var isFinished = false
        private var lastTicket = 0

        init(count: Int) {
            uses = Array(repeating: [], count: count)
        }

        var recordedCount: Int {
            recordings.count + replacements.count
        }

        func isUsed(_ index: Int) -> Bool {
            !uses[index].isEmpty || replacements[index] != nil
        }

        mutating func number(of principal: Principal) -> Int {
            if let index = principals.firstIndex(of: principal) { return index + 1 }
            principals.append(principal)
            return principals.count
        }

        /// Whether a request still has to be recorded.
        func isUnderway(_ pending: PendingRecording) -> Bool {
            !isFinished && underway[pending.ticket] != nil
        }

        /// Ends the recording of a request.
        mutating func end(_ pending: PendingRecording) {
            underway[pending.ticket] = nil
            streams[pending.ticket] = nil
        }

        /// Starts the recording of a request and returns its ticket.
        mutating func begin(_ request: String) -> Int {
            lastTicket += 1
            underway[lastTicket] = request
            return lastTicket
        }
    }

    /// A request that is being recorded.
    struct PendingRecording: Sendable {
        let ticket: Int
        let request: Interaction.Request
        let facts: CassetteFacts
        let user: User?
        /// The interaction that the recording replaces.
        let replaced: Int?
        let redaction: Redaction
        let tee: CassetteTee?
        /// Ensures that the recording ends only once.
        let once = Once()
        private let clock: NetworkClock
        private let date: Date
        private let start: Duration

        /// Starts the recording now.
        init(
            _ ticket: Int,
            _ request: Interaction.Request,
            _ facts: CassetteFacts,
            for user: User?,
            replacing replaced: Int?,
            _ redaction: Redaction,
            _ tee: CassetteTee?
        ) {
            (self.ticket, self.request, self.facts, self.user) = (ticket, request, facts, user)
            (self.replaced, self.redaction, self.tee) = (replaced, redaction, tee)
            clock = NetworkEnvironment.current.clock
            date = clock.date
            start = clock.now
        }

        /// The interaction with the head of a response.
        func interaction(with head: HTTPResponse) -> Interaction {
            Interaction(
                request: request,
                response: Interaction.Response(status: head.status, headerFields: head.headerFields),
                date: date,
                duration: .milliseconds(Int64((clock.now - start) / .milliseconds(1))),
                user: user
            )
        }
    }

    /// An operation that runs only once; a concurrent second call waits until the first is done.
    final class Once: Sendable {
        private let isDone = Mutex(false)

        func run(_ body: () -> Void) {
            isDone.withLock { isDone in
                guard !isDone else { return }
                body()
                isDone = true
            }
        }
    }

    /// A recorded interaction with its secrets redacted.
    struct Recording: Sendable {
        let entry: HAR.Entry
        let facts: CassetteFacts
        /// The entry that is written to the file, once it was requested.
        let saved = SavedEntry()
    }

    /// The entry after the hook has run, which happens only once; nil if the hook discards it.
    final class SavedEntry: Sendable {
        private let entry = Mutex<HAR.Entry??>(nil)

        /// The entry, created outside of the lock, because `make` may run code of the app.
        func value(_ make: () -> HAR.Entry?) -> HAR.Entry? {
            if let entry = entry.withLock({ $0 }) { return entry }
            let made = make()
            return entry.withLock { entry in
                if let entry { return entry }
                entry = .some(made)
                return made
            }
        }
    }
}

extension Cassette.Recording {
    /// The user that it was recorded for.
    var user: Cassette.User? {
        entry.user
    }
}

extension Cassette.Interaction {
    /// Whether the response equals that of a matching recorded interaction, which can then stay unchanged, including
    /// its times.
    func adds(nothingTo old: Cassette.Interaction, _ options: Cassette.Options) -> Bool {
        // With an expiration, the date of the recording matters.
        options.expiration == nil && response.lasting == old.response.lasting
    }
}

extension Cassette.Interaction.Response {
    /// The response without the date field, which differs each time.
    fileprivate var lasting: Cassette.Interaction.Response {
        var response = self
        response.headerFields[.date] = nil
        return response
    }
}

extension Cassette.Options {
    /// A key that is the same for all matching requests, built from the matchers that have one.
    func key(of facts: CassetteFacts, for user: Cassette.User?) -> String {
        "\(matching.compactMap { $0.key?(facts) } + [user.map { "\($0)" } ?? ""])"
    }

    func matches(_ recorded: CassetteFacts, _ request: CassetteFacts) -> Bool {
        matching.allSatisfy { $0.differences(recorded, request).isEmpty }
    }
}
