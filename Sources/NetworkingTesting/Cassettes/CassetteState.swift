import Networking
import NetworkingHAR

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

        mutating func ordinal(of principal: Principal?) -> Int? {
            guard let principal else { return nil }
            if let index = principals.firstIndex(of: principal) { return index + 1 }
            principals.append(principal)
            return principals.count
        }

        /// Has a request recorded.
        mutating func begin(_ request: String) -> Int {
            lastTicket += 1
            underway[lastTicket] = request
            return lastTicket
        }
    }

    /// An interaction that was recorded, its secrets hidden.
    struct Recording: Sendable {
        let entry: HAR.Entry
        let facts: CassetteFacts
    }
}

extension Cassette.Recording {
    /// Whether it says nothing new beside an interaction of the file, so that this one can stay as it is, times included.
    func says(whatOf tape: Cassette.Tape, _ index: Int, _ options: Cassette.Options) -> Bool {
        // With a limit to its age, when it was made is news.
        guard options.expiration == nil, options.matches(tape.facts[index], facts) else { return false }
        let old = tape.interactions[index]
        let new = Cassette.Interaction(entry, isForeign: false)
        guard old.principal == new.principal else { return false }
        return old.response.lasting == new.response.lasting
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
    func matches(_ recorded: CassetteFacts, _ request: CassetteFacts) -> Bool {
        matching.allSatisfy { $0.differences(recorded, request).isEmpty }
    }
}
