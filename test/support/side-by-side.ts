/**
 * Does several things, as many at once as there are places: each is done in one that is free. What a place has (a sandbox,
 * a tab) is used for one thing after the other.
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
