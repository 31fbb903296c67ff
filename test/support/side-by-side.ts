/**
 * Runs several tasks concurrently, each in a free place. The resources of a place (a sandbox, a tab) serve one task
 * after the other.
 */
export async function sideBySide<Thing, Place>(
  things: readonly Thing[],
  places: readonly Place[],
  work: (thing: Thing, place: Place) => Promise<void>,
): Promise<void> {
  const left = [...things];
  const workIn = async (place: Place): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await work(next, place);
  };
  await Promise.all(places.map(workIn));
}
