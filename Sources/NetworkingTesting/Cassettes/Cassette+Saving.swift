import FoundationForNetworking
import NetworkingInspector

extension Cassette {
    /// Writes the file if its content changed.
    func save(_ state: State) throws(CassetteError) {
        // In mode .all, a run without recordings leaves the file unchanged.
        let drops = options.dropsUnused && tape.interactions.indices.contains { !state.isUsed($0) }
        guard state.recordedCount > 0 || (drops && mode != .all) else { return }
        let data = try CassetteFile.encode(entries(of: state))
        if data != tape.content?.bytes { try file.write(data) }
    }

    /// The entries that the file should contain.
    func entries(of state: State) -> [HAR.Entry] {
        let old = tape.content?.har.entries ?? []
        let new = state.recordings.sorted { $0.key < $1.key }.map(\.value)
        guard mode != .all else {
            if new.isEmpty { return old }
            var spare = Set(old.indices)
            return new.compactMap { recording in
                guard let entry = entry(of: recording) else { return nil }
                let candidates = tape.index[options.key(of: recording.facts, for: recording.user)] ?? []
                let same = candidates.first { index in
                    spare.contains(index) && options.matches(tape.facts[index], recording.facts)
                        && Interaction(entry, isForeign: false).adds(nothingTo: tape.interactions[index], options)
                }
                return spare.remove(same ?? -1).map { old[$0] } ?? entry
            }
        }
        let kept: [HAR.Entry] = old.indices.compactMap { index in
            if let replacement = state.replacements[index] { return entry(of: replacement) }
            let isDropped = options.dropsUnused && mayWrite && !state.isUsed(index)
            return isDropped ? nil : old[index]
        }
        return kept + new.compactMap { entry(of: $0) }
    }

    /// The entry to write for a recording; nil if a hook discards it.
    private func entry(of recording: Recording) -> HAR.Entry? {
        guard let beforeSave = options.beforeSave else { return recording.entry }
        return recording.saved.value {
            var interaction = Interaction(recording.entry, isForeign: false)
            beforeSave(&interaction)
            return interaction.isDiscarded ? nil : interaction.entry(redacting: nil)
        }
    }
}
