import HTTPTypes
import Networking
import NetworkingHAR
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Cassette {
    /// What has happened since a cassette was opened.
    struct State: Sendable {
        /// Who got each interaction of the file, by the labels of their requests.
        var uses: [[HTTPRequestData.ID]]
        /// What was recorded, by the order in which the requests came.
        var recordings: [Int: Recording] = [:]
        /// What was recorded in place of an interaction that was too old.
        var replacements: [Int: Recording] = [:]
        /// The requests that are being recorded.
        var underway: [Int: String] = [:]
        /// Those of them that somebody reads as they come, and may leave at any time.
        var streams: [Int: PendingRecording] = [:]
        /// What could not be recorded, and why.
        var problems: [String] = []
        /// The interactions of which it was said that they are too old.
        var reportedOld: Set<Int> = []
        /// The users, in the order in which they appeared.
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

        /// Whether a request is still to be recorded.
        func isUnderway(_ pending: PendingRecording) -> Bool {
            !isFinished && underway[pending.ticket] != nil
        }

        /// Is done with a request.
        mutating func end(_ pending: PendingRecording) {
            underway[pending.ticket] = nil
            streams[pending.ticket] = nil
        }

        /// Has a request recorded.
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
        /// The interaction in whose place it is recorded.
        let replaced: Int?
        let redaction: Redaction
        let tee: CassetteTee?
        /// Its end.
        let once = Once()
        private let clock: NetworkClock
        private let date: Date
        private let start: Duration

        /// Begins now.
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

        /// The interaction that it has become with the head of a response.
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

    /// Something that is done once, and that whoever comes second waits for.
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

    /// An interaction that was recorded, its secrets hidden.
    struct Recording: Sendable {
        let entry: HAR.Entry
        let facts: CassetteFacts
        /// What is written of it, once that was asked for.
        let saved = SavedEntry()
    }

    /// An entry as a hook has left it, which is asked once; or nothing.
    final class SavedEntry: Sendable {
        private let entry = Mutex<HAR.Entry??>(nil)

        /// The entry; made outside of the lock, since it may be anybody's code that does that.
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
    /// For whom it was made.
    var user: Cassette.User? {
        entry.tape?.user
    }
}

extension Cassette.Interaction {
    /// Whether the response is that of a recorded interaction like it, so that this one can stay as it is, times
    /// included.
    func adds(nothingTo old: Cassette.Interaction, _ options: Cassette.Options) -> Bool {
        // With a limit to its age, when it was made is news.
        options.expiration == nil && response.lasting == old.response.lasting
    }
}

extension Cassette.Interaction.Response {
    /// Without the field that differs each time.
    fileprivate var lasting: Cassette.Interaction.Response {
        var response = self
        response.headerFields[.date] = nil
        return response
    }
}

extension Cassette.Options {
    /// What is the same for all requests that match, as far as that can be told without comparing them.
    func key(of facts: CassetteFacts, for user: Cassette.User?) -> String {
        "\(matching.compactMap { $0.key?(facts) } + [user.map { "\($0)" } ?? ""])"
    }

    func matches(_ recorded: CassetteFacts, _ request: CassetteFacts) -> Bool {
        matching.allSatisfy { $0.differences(recorded, request).isEmpty }
    }
}
